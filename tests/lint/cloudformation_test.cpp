// CloudFormation templates offline: each rule finds its defect on its line, and good templates have
// no finding.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "findings_text.h"
#include "lint/lint.h"
#include "testing.h"

namespace muster::lint {
namespace {

const facts::Facts& known() {
  static const auto kKnown = facts::load_facts(real_file_system(), muster::testing::source_dir());
  return *kKnown;
}

Findings findings_of(const std::string& text) {
  bool unreadable = false;
  return kCloudFormationChecker.check({"t.yaml", muster::testing::source_dir(), text, nullptr},
                                      known(), unreadable);
}

/// A template with one defect: the line that ends in `# <-` is where it is told.
struct Defect {
  const char* rule;
  const char* text;
};

std::string name_of(const ::testing::TestParamInfo<Defect>& info) {
  std::string name = std::to_string(info.index) + "_" + info.param.rule;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class CloudFormationDefect : public ::testing::TestWithParam<Defect> {};

TEST_P(CloudFormationDefect, IsFoundOnItsLine) {
  const std::string text = GetParam().text;
  const std::size_t mark = text.find("# <-");
  ASSERT_NE(mark, std::string::npos);
  const auto line = static_cast<int>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(mark), '\n') + 1);
  const Findings all = findings_of(text);
  const bool found = std::any_of(all.begin(), all.end(), [&](const Finding& finding) {
    return finding.rule == GetParam().rule && finding.where.line == line;
  });
  EXPECT_TRUE(found) << "line " << line << " of\n"
                     << text << "\n"
                     << testing::text_of_findings(all);
}

const Defect kLanguage[] = {
    {"cfn-section", "Resource: # <-\n  A: {Type: AWS::SNS::Topic}\n"},
    {"cfn-section", R"(AWSTemplateFormatVersion: 2010-09-10 # <-
Resources: {A: {Type: AWS::SNS::Topic}}
)"},
    {"cfn-key", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    Propertys: {TopicName: a} # <-
)"},
    {"cfn-key", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    DeletionPolicy: Retian # <-
)"},
    {"cfn-key", R"(Resources: {A: {Type: AWS::SNS::Topic}}
Outputs:
  A: # <-
    Description: nothing
)"},
    {"cfn-parameter", R"(Parameters:
  P:
    Type: Strin # <-
Resources: {A: {Type: AWS::SNS::Topic, Properties: {TopicName: !Ref P}}}
)"},
    {"cfn-parameter", R"(Parameters:
  P:
    Type: String
    AllowedValues: [one, two]
    Default: three # <-
Resources: {A: {Type: AWS::SNS::Topic, Properties: {TopicName: !Ref P}}}
)"},
    {"cfn-parameter", R"(Parameters:
  P:
    Type: String
    AllowedPattern: "[a-z]+"
    Default: A1 # <-
Resources: {A: {Type: AWS::SNS::Topic, Properties: {TopicName: !Ref P}}}
)"},
    {"cfn-parameter", R"(Parameters:
  P:
    Type: Number
    MinValue: 10
    Default: 5 # <-
Resources: {A: {Type: AWS::EC2::Volume, Properties: {AvailabilityZone: !Select [0, !GetAZs ""], Size: !Ref P}}}
)"},
    {"cfn-empty-default", R"(Parameters:
  Image:
    Type: AWS::EC2::Image::Id
    Default: "" # <-
Resources: {A: {Type: AWS::EC2::Instance, Properties: {ImageId: !Ref Image}}}
)"},
    {"cfn-empty-default", R"(Parameters:
  Key: {Type: AWS::EC2::KeyPair::KeyName}
Conditions:
  HasKey: !Not [!Equals [!Ref Key, ""]] # <-
Resources: {A: {Type: AWS::EC2::Instance, Properties: {KeyName: !If [HasKey, !Ref Key, !Ref AWS::NoValue]}}}
)"},
    {"cfn-function", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    Properties:
      TopicName: !Joyn ["-", [a, b]] # <-
)"},
    {"cfn-function", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    Properties:
      TopicName: !Select [2, [a, b]] # <-
)"},
    {"cfn-sub", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    Properties:
      TopicName: !Sub topic # <-
)"},
    {"cfn-type", R"(Resources:
  A:
    Type: AWS::Sagemaker::Cluster # <-
)"},
    {"cfn-property", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    Properties:
      TopicNam: a # <-
)"},
    {"cfn-required", R"(Resources:
  A: # <-
    Type: AWS::FSx::FileSystem
    Properties: {SubnetIds: [!Ref S]}
  S: {Type: AWS::EC2::Subnet, Properties: {VpcId: !ImportValue vpc}}
)"},
    {"cfn-value", R"(Resources:
  A:
    Type: AWS::EC2::VPC
    Properties:
      CidrBlock: 10.0.0.0/16
      EnableDnsSupport: yess # <-
)"},
    {"cfn-value", R"(Resources:
  A:
    Type: AWS::EC2::VPC
    Properties:
      CidrBlock: 10.0.0.0/16
      Tags: !Ref AWS::StackName # <-
)"},
    {"cfn-reference", R"(Resources:
  Topic: {Type: AWS::SNS::Topic}
  B:
    Type: AWS::SNS::Subscription
    Properties:
      Protocol: email
      TopicArn: !Ref Topik # <-
)"},
    {"cfn-reference", R"(Resources:
  A:
    Type: AWS::SSM::Parameter
    Properties:
      Type: String
      Value: !Sub |
        first line
        ${Missing} # <-
)"},
    {"cfn-reference", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    DependsOn: Nothing # <-
)"},
    {"cfn-attribute", R"(Resources:
  Key: {Type: AWS::KMS::Key}
Outputs:
  Key: {Value: !GetAtt Key.Arm} # <-
)"},
    {"cfn-circle", R"(Resources:
  A:
    Type: AWS::SNS::Topic
    DependsOn: B
  B:
    Type: AWS::SNS::Topic
    DependsOn: A # <-
)"},
    {"cfn-condition", R"(Parameters: {P: {Type: String}}
Conditions: {Wanted: !Equals [!Ref P, a]}
Resources:
  A:
    Type: AWS::SNS::Topic
    Condition: Wnated # <-
  B: {Type: AWS::SNS::Topic, Condition: Wanted}
)"},
    {"cfn-condition", R"(Parameters: {P: {Type: String, AllowedValues: ["true", "false"]}}
Conditions:
  Wanted: !Equals [!Ref P, "yes"] # <-
Resources: {A: {Type: AWS::SNS::Topic, Condition: Wanted}}
)"},
    {"cfn-conditional", R"(Parameters: {P: {Type: String}}
Conditions: {Wanted: !Equals [!Ref P, a]}
Resources: {A: {Type: AWS::SNS::Topic, Condition: Wanted}}
Outputs:
  A: {Value: !Ref A} # <-
)"},
    {"cfn-mapping", R"(Mappings: {Sizes: {small: {Cpus: 1}}}
Resources:
  A:
    Type: AWS::SNS::Topic
    Properties:
      TopicName: !FindInMap [Sizes, smal, Cpus] # <-
)"},
    {"cfn-unused", R"(Parameters:
  P: {Type: String} # <-
Resources: {A: {Type: AWS::SNS::Topic}}
)"},
};
INSTANTIATE_TEST_SUITE_P(Language, CloudFormationDefect, ::testing::ValuesIn(kLanguage), name_of);

const Defect kNetwork[] = {
    {"cfn-efa-group", R"(Resources:
  Group: # <-
    Type: AWS::EC2::SecurityGroup
    Properties: {GroupDescription: EFA, VpcId: !ImportValue vpc}
  In:
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {GroupId: !Ref Group, IpProtocol: "-1", SourceSecurityGroupId: !Ref Group}
  Out:
    Type: AWS::EC2::SecurityGroupEgress
    Properties: {GroupId: !Ref Group, IpProtocol: "-1", CidrIp: 0.0.0.0/0}
)"},
    {"cfn-efa-group", R"(Resources:
  Group: # <-
    Type: AWS::EC2::SecurityGroup
    Properties: {GroupDescription: nodes, VpcId: !ImportValue vpc}
Outputs:
  SecurityGroup: {Value: !Ref Group, Export: {Name: !Sub "${AWS::StackName}-SecurityGroup"}}
)"},
    {"cfn-lustre-ports", R"(Resources:
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: FSx
      SecurityGroupIngress:
        - IpProtocol: tcp
          FromPort: 1021 # <-
          ToPort: 1023
          CidrIp: 10.0.0.0/16
)"},
    {"cfn-duplicate-rule", R"(Resources:
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties: {GroupDescription: nodes, VpcId: !ImportValue vpc}
  A:
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {GroupId: !Ref Group, IpProtocol: "-1", SourceSecurityGroupId: !Ref Group}
  B: # <-
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {GroupId: !Ref Group, IpProtocol: "-1", SourceSecurityGroupId: !Ref Group}
)"},
    {"cfn-fixed-name", R"(Resources:
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: nodes
      GroupName: nodes # <-
)"},
    {"cfn-addresses", R"(Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/17}}
  B: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.64.0/18}} # <-
)"},
    {"cfn-addresses", R"(Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.1.0.0/17}} # <-
)"},
    {"cfn-addresses", R"(Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  More: {Type: AWS::EC2::VPCCidrBlock, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.1.0.0/16}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.1.0.0/17}} # <-
)"},
    {"cfn-addresses", R"(Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/24}}
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: p6-b200.48xlarge
        MetadataOptions: {HttpTokens: required}
        NetworkInterfaces:
          - {NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: efa, Groups: [!ImportValue group]}
          - {NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: efa, Groups: [!ImportValue group]}
  Nodes:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: 0
      MaxSize: 200 # <-
      VPCZoneIdentifier: [!Ref A]
      LaunchTemplate: {LaunchTemplateId: !Ref Launch, Version: !GetAtt Launch.LatestVersionNumber}
)"},
    {"cfn-route", R"(Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/17}}
  B: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.128.0/17}} # <-
  Table: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref Vpc}}
  Is: {Type: AWS::EC2::SubnetRouteTableAssociation, Properties: {SubnetId: !Ref A, RouteTableId: !Ref Table}}
)"},
    {"cfn-flow-log", R"(Resources:
  Group: {Type: AWS::Logs::LogGroup}
  Flow:
    Type: AWS::EC2::FlowLog
    Properties:
      LogGroupName: FlowLogsGroup # <-
      ResourceId: !ImportValue vpc
      ResourceType: VPC
      TrafficType: ALL
)"},
    {"cfn-interfaces", R"(Resources:
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: p5en.48xlarge
        NetworkInterfaces:
          - {NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: efa, Groups: [!ImportValue group]}
          - {NetworkCardIndex: 1, DeviceIndex: 0, InterfaceType: efa, Groups: [!ImportValue group]} # <-
)"},
    {"cfn-interfaces", R"(Resources:
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: p6-b300.48xlarge
        NetworkInterfaces:
          - {NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: efa, Groups: [!ImportValue group]} # <-
)"},
    {"cfn-interface-groups", R"(Resources:
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        SecurityGroupIds: [!ImportValue group] # <-
        NetworkInterfaces:
          - {NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: efa, Groups: [!ImportValue group]}
)"},
};
INSTANTIATE_TEST_SUITE_P(Network, CloudFormationDefect, ::testing::ValuesIn(kNetwork), name_of);

const Defect kCapacity[] = {
    {"cfn-inverted",
     R"(Parameters: {CreatePlacementGroup: {Type: String, Default: "false", AllowedValues: ["true", "false"]}}
Conditions: {Placed: !Equals [!Ref CreatePlacementGroup, "true"]}
Resources:
  Together: {Type: AWS::EC2::PlacementGroup, Properties: {Strategy: cluster}}
  Environment:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources:
        Type: EC2
        AllocationStrategy: BEST_FIT_PROGRESSIVE
        MaxvCpus: 384
        Subnets: [!ImportValue subnet]
        PlacementGroup: !If [Placed, !Ref AWS::NoValue, !Ref Together] # <-
)"},
    {"cfn-inverted", R"(Parameters: {Image: {Type: String, Default: ""}}
Conditions: {HasImage: !Equals [!Ref Image, ""]}
Resources:
  Node:
    Type: AWS::EC2::Instance
    Properties:
      ImageId: !If [HasImage, !Ref Image, "{{resolve:ssm:/aws/service/x}}"] # <-
)"},
    {"cfn-reservation", R"(Parameters: {Reservation: {Type: String, Default: ""}}
Conditions: {Has: !Not [!Equals [!Ref Reservation, ""]]}
Resources:
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions: {HttpTokens: required}
        CapacityReservationSpecification:
          CapacityReservationTarget:
            CapacityReservationId: !If [Has, !Ref Reservation, !Ref AWS::NoValue] # <-
)"},
    {"cfn-reservation", R"(Parameters:
  CapacityReservationId: {Type: String} # <-
Resources:
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions: {HttpTokens: required}
        InstanceMarketOptions: {MarketType: capacity-block}
        CapacityReservationSpecification:
          CapacityReservationTarget: {CapacityReservationId: !Ref CapacityReservationId}
)"},
    {"cfn-placement-group", R"(Parameters: {CapacityBlockId: {Type: String}}
Resources:
  Together: {Type: AWS::EC2::PlacementGroup, Properties: {Strategy: cluster}}
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions: {HttpTokens: required}
        InstanceMarketOptions: {MarketType: capacity-block}
        CapacityReservationSpecification:
          CapacityReservationTarget: {CapacityReservationId: !Ref CapacityBlockId}
        Placement:
          GroupName: !Ref Together # <-
)"},
    {"cfn-reservation-zone",
     R"(Parameters: {ZoneA: {Type: "AWS::EC2::AvailabilityZone::Name"}, ZoneB: {Type: "AWS::EC2::AvailabilityZone::Name"}}
Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/24, AvailabilityZone: !Ref ZoneB}}
  Reserved:
    Type: AWS::EC2::CapacityReservation
    Properties: {InstanceType: p5.48xlarge, InstancePlatform: Linux/UNIX, InstanceCount: 2, AvailabilityZone: !Ref ZoneA}
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions: {HttpTokens: required}
        CapacityReservationSpecification: {CapacityReservationTarget: {CapacityReservationId: !Ref Reserved}}
  Nodes:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: 0
      MaxSize: 2
      VPCZoneIdentifier: [!Ref Subnet] # <-
      LaunchTemplate: {LaunchTemplateId: !Ref Launch, Version: !GetAtt Launch.LatestVersionNumber}
)"},
    {"cfn-fsx", R"(Resources:
  Scratch:
    Type: AWS::FSx::FileSystem
    Properties:
      FileSystemType: LUSTRE
      StorageCapacity: 1201 # <-
      SubnetIds: [!ImportValue subnet]
      LustreConfiguration: {DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250}
)"},
    {"cfn-fsx", R"(Resources:
  Scratch:
    Type: AWS::FSx::FileSystem
    Properties:
      FileSystemType: LUSTRE
      StorageCapacity: 1200
      SubnetIds: [!ImportValue subnet]
      LustreConfiguration:
        DeploymentType: PERSISTENT_2
        PerUnitStorageThroughput: 200 # <-
)"},
    {"cfn-fsx", R"(Resources:
  Scratch:
    Type: AWS::FSx::FileSystem
    Properties:
      FileSystemType: LUSTRE
      StorageCapacity: 4800 # <-
      SubnetIds: [!ImportValue subnet]
      LustreConfiguration:
        DeploymentType: PERSISTENT_2
        PerUnitStorageThroughput: 250
        EfaEnabled: true
        MetadataConfiguration: {Mode: AUTOMATIC}
)"},
    {"cfn-fsx", R"(Resources:
  Home:
    Type: AWS::FSx::FileSystem
    Properties:
      FileSystemType: OPENZFS
      StorageCapacity: 512
      SubnetIds: [!ImportValue subnet]
      OpenZFSConfiguration:
        DeploymentType: SINGLE_AZ_HA_2
        ThroughputCapacity: 64 # <-
)"},
    {"cfn-retention", R"(Resources:
  Database:
    Type: AWS::RDS::DBInstance
    DeletionPolicy: Delete
    Properties:
      DBInstanceClass: db.m5.large
      DeletionProtection: true # <-
)"},
    {"cfn-hyperpod", R"(Resources:
  Cluster:
    Type: AWS::SageMaker::Cluster
    Properties:
      InstanceGroups:
        - InstanceGroupName: workers
          InstanceType: p5.48xlarge # <-
          InstanceCount: 2
          ExecutionRole: !ImportValue role
          LifeCycleConfig: {SourceS3Uri: !ImportValue uri, OnCreate: on_create.sh}
)"},
};
INSTANTIATE_TEST_SUITE_P(Capacity, CloudFormationDefect, ::testing::ValuesIn(kCapacity), name_of);

const Defect kBinding[] = {
    {"cfn-permission", R"(Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      Policies:
        - PolicyName: own
          PolicyDocument:
            Statement: [{Effect: Allow, Action: "logs:*", Resource: !Sub "arn:${AWS::Partition}:logs:*"}]
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Role: !GetAtt Role.Arn
      Code:
        ZipFile: |
          import boto3
          ec2 = boto3.client("ec2")
          def handler(event, context):
              return ec2.describe_instances() # <-
)"},
    {"cfn-permission", R"(Parameters: {Monitoring: {Type: String, Default: none}}
Conditions: {Watched: !Not [!Equals [!Ref Monitoring, none]]}
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      Policies:
        - !If
          - Watched
          - PolicyName: own
            PolicyDocument: {Statement: [{Effect: Allow, Action: ec2:DescribeInstances, Resource: "*"}]}
          - !Ref AWS::NoValue
  Profile: {Type: AWS::IAM::InstanceProfile, Properties: {Roles: [!Ref Role]}}
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions: {HttpTokens: required}
        IamInstanceProfile: {Arn: !GetAtt Profile.Arn}
        UserData:
          Fn::Base64: |
            #!/bin/bash
            aws ec2 describe-instances --filters Name=tag:role,Values=server # <-
)"},
    {"cfn-permission", R"(Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      Policies:
        - PolicyName: all
          PolicyDocument:
            Statement:
              - Effect: Allow
                Action: "*" # <-
                Resource: "*"
)"},
    {"cfn-identity", R"(Parameters:
  Subnet: {Type: String}
  PrimarySubnetAZ:
    Type: String
    Default: usw2-az4 # <-
Resources:
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Subnet, AvailabilityZoneId: !Ref PrimarySubnetAZ}}
)"},
    {"cfn-identity", R"(Resources:
  A:
    Type: AWS::EC2::Instance
    Properties:
      ImageId: ami-0a1b2c3d4e5f60718 # <-
)"},
    {"cfn-identity", R"(Mappings:
  Assets:
    us-west-2:
      Bucket: workshop-assets-west # <-
Resources:
  A: {Type: AWS::SNS::Topic, Properties: {TopicName: !FindInMap [Assets, !Ref AWS::Region, Bucket]}}
)"},
    {"cfn-partition", R"(Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      ManagedPolicyArns:
        - arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy # <-
)"},
    {"cfn-placeholder", R"(Parameters:
  Email:
    Type: String
    Default: <your e-mail address> # <-
Resources: {A: {Type: AWS::SNS::Subscription, Properties: {Protocol: email, TopicArn: !ImportValue t, Endpoint: !Ref Email}}}
)"},
    {"cfn-image", R"(Resources:
  A:
    Type: AWS::EC2::Instance
    Properties:
      ImageId: /aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id # <-
)"},
    {"cfn-end-of-life", R"(Parameters:
  Image:
    Type: AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>
    Default: /aws/service/eks/optimized-ami/1.29/amazon-linux-2-gpu/recommended/image_id # <-
Resources: {A: {Type: AWS::EC2::Instance, Properties: {ImageId: !Ref Image}}}
)"},
    {"cfn-floating", R"(Resources:
  Job:
    Type: AWS::Batch::JobDefinition
    Properties:
      Type: container
      ContainerProperties:
        Image: public.ecr.aws/hpc-cloud/nccl-tests:latest # <-
)"},
    {"cfn-volume", R"(Resources:
  A:
    Type: AWS::EC2::Volume
    Properties:
      AvailabilityZone: !Select [0, !GetAZs ""]
      VolumeType: gp2 # <-
)"},
    {"cfn-imds", R"(Resources:
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions:
          HttpTokens: optional # <-
)"},
};
INSTANTIATE_TEST_SUITE_P(Binding, CloudFormationDefect, ::testing::ValuesIn(kBinding), name_of);

const Defect kRuns[] = {
    {"cfn-multinode", R"(Resources:
  Job:
    Type: AWS::Batch::JobDefinition
    Properties:
      Type: multinode
      NodeProperties:
        MainNode: 0
        NumNodes: 2
        NodeRangeProperties:
          - TargetNodes: "0:"
            Container:
              Image: example/nccl-tests:1.0
              Command: [mpirun, -np, "8", -N, "8", all_reduce_perf] # <-
)"},
    {"cfn-multinode", R"(Resources:
  Job:
    Type: AWS::Batch::JobDefinition
    Properties:
      Type: multinode
      NodeProperties:
        MainNode: 0
        NumNodes: 2
        NodeRangeProperties:
          - TargetNodes: "0:"
            Container:
              Image: example/nccl-tests:1.0
              Environment:
                - Name: NCCL_TOTAL_PROCS
                  Value: "16" # <-
)"},
    {"cfn-devices", R"(Resources:
  Job:
    Type: AWS::Batch::JobDefinition
    Properties:
      Type: multinode
      NodeProperties:
        MainNode: 0
        NumNodes: 2
        NodeRangeProperties:
          - TargetNodes: "0:"
            Container:
              InstanceType: p4d.24xlarge
              Image: example/nccl-tests:1.0
              LinuxParameters:
                Devices:
                  - {HostPath: /dev/infiniband/uverbs0, ContainerPath: /dev/infiniband/uverbs0} # <-
)"},
    {"cfn-batch-environment", R"(Resources:
  Environment:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources:
        Type: EC2
        AllocationStrategy: BEST_FIT_PROGRESSIVE
        MaxvCpus: 100000 # <-
        Subnets: [!ImportValue subnet]
)"},
    {"cfn-unpinned", R"(Resources:
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Role: !ImportValue role
      Code:
        ZipFile: |
          BASE = "https://raw.githubusercontent.com/example/repository/main/scripts/" # <-
)"},
    {"cfn-unverified", R"(Resources:
  A:
    Type: AWS::EC2::Instance
    Properties:
      UserData:
        Fn::Base64: |
          #!/bin/bash
          curl -L -o /tmp/a.tgz https://example.com/tool-1.2.tgz # <-
)"},
    {"cfn-empties-bucket", R"(Resources:
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Role: !ImportValue role
      Code:
        ZipFile: |
          def handler(event, context):
              bucket.objects.all().delete() # <-
)"},
    {"cfn-helper", R"(Resources:
  Server:
    Type: AWS::EC2::Instance
    Metadata: {"AWS::CloudFormation::Init": {configSets: {all: [one]}, one: {}}}
    Properties:
      UserData:
        Fn::Base64: !Sub |
          #!/bin/bash
          cfn-init --stack ${AWS::StackName} --resource LdapServer --configsets all # <-
)"},
    {"cfn-signal", R"(Resources:
  Server:
    Type: AWS::EC2::Instance
    Properties:
      UserData:
        Fn::Base64: !Sub |
          #!/bin/bash
          cfn-signal --stack ${AWS::StackName} --resource Server # <-
)"},
    {"cfn-mime", R"(Resources:
  Launch:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        MetadataOptions: {HttpTokens: required}
        UserData:
          Fn::Base64: |
            MIME-Version: 1.0
            Content-Type: multipart/mixed; boundary="==PART==" # <-

            --==PART==
            Content-Type: text/x-shellscript

            #!/bin/bash
            --==PART==
)"},
    {"cfn-directory", R"(Resources:
  Server:
    Type: AWS::EC2::Instance
    Properties:
      UserData:
        Fn::Base64: |
          cat > /etc/sssd/sssd.conf <<EOF
          ldap_uri = ldap://directory # <-
          EOF
)"},
    {"cfn-secret-arn", R"(Resources:
  Job:
    Type: AWS::Batch::JobDefinition
    Properties:
      Type: container
      ContainerProperties:
        Image: example/job:1.0
        Secrets:
          - Name: KEY
            ValueFrom: !Sub "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}-ssh-key" # <-
)"},
    {"cfn-transform", R"(Transform: AWS::Serverless-2016-10-31 # <-
Resources: {A: {Type: AWS::SNS::Topic}}
)"},
    {"cfn-interface-metadata", R"(Metadata:
  AWS::CloudFormation::Interface:
    ParameterGroups:
      - Label: {default: Network}
        Parameters: [Vpc, Subnets] # <-
Parameters: {Vpc: {Type: String}, SubnetIds: {Type: String}}
Resources: {A: {Type: AWS::SNS::Topic, Properties: {TopicName: !Sub "${Vpc}-${SubnetIds}"}}}
)"},
    {"cfn-output-name", R"(Resources:
  Launch: {Type: AWS::EC2::LaunchTemplate, Properties: {LaunchTemplateData: {MetadataOptions: {HttpTokens: required}}}}
Outputs:
  LatestVersionNumber: {Value: !GetAtt Launch.DefaultVersionNumber} # <-
)"},
    {"cfn-empty-list", R"(Parameters: {Policy: {Type: String, Default: none}}
Conditions: {Enforced: !Not [!Equals [!Ref Policy, none]]}
Resources:
  Cluster:
    Type: AWS::PCS::Cluster
    Properties:
      Size: SMALL
      Networking: {SubnetIds: [!ImportValue subnet], SecurityGroupIds: [!ImportValue group]}
      Scheduler: {Type: SLURM, Version: "25.11"}
      SlurmConfiguration:
        SlurmCustomSettings:
          - !If [Enforced, {ParameterName: AccountingStorageEnforce, ParameterValue: !Ref Policy}, !Ref AWS::NoValue] # <-
)"},
};
INSTANTIATE_TEST_SUITE_P(Runs, CloudFormationDefect, ::testing::ValuesIn(kRuns), name_of);

}  // namespace
}  // namespace muster::lint
