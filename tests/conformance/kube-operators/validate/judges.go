package main

import (
	"context"
	"errors"

	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	mpivalidation "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	trainercore "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	trainerwebhooks "github.com/kubeflow/trainer/v2/pkg/webhooks"
	training "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	pytorchwebhook "github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	ray "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	raywebhooks "github.com/ray-project/kuberay/ray-operator/pkg/webhooks/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"
	lwswebhooks "sigs.k8s.io/lws/pkg/webhooks"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
)

// admitted is what a webhook says when an object is made: its defaults first, where it has any.
func admitted[T any, P interface {
	*T
	runtime.Object
}](hook webhook.CustomValidator) func(context.Context, map[string]any) error {
	return func(ctx context.Context, content map[string]any) error {
		object, err := decode[T](content)
		if err != nil {
			return err
		}
		if defaulter, ok := hook.(webhook.CustomDefaulter); ok {
			if err := defaulter.Default(ctx, P(object)); err != nil {
				return err
			}
		}
		_, err = hook.ValidateCreate(ctx, P(object))
		return err
	}
}

func mpiJob(_ context.Context, content map[string]any) error {
	job, err := decode[mpi.MPIJob](content)
	if err != nil {
		return err
	}
	mpi.SetObjectDefaults_MPIJob(job)
	return mpivalidation.ValidateMPIJob(job).ToAggregate()
}

// Ray's webhooks look at names; its controllers at the rest, before they make anything.
func rayCluster(ctx context.Context, content map[string]any) error {
	cluster, err := decode[ray.RayCluster](content)
	if err != nil {
		return err
	}
	_, err = (&raywebhooks.RayClusterWebhook{}).ValidateCreate(ctx, cluster)
	return errors.Join(err, utils.ValidateRayClusterSpec(&cluster.Spec, cluster.Annotations))
}

func rayJob(ctx context.Context, content map[string]any) error {
	job, err := decode[ray.RayJob](content)
	if err != nil {
		return err
	}
	_, err = (&raywebhooks.RayJobWebhook{}).ValidateCreate(ctx, job)
	return errors.Join(err, utils.ValidateRayJobSpec(job))
}

func rayService(ctx context.Context, content map[string]any) error {
	service, err := decode[ray.RayService](content)
	if err != nil {
		return err
	}
	_, err = (&raywebhooks.RayServiceWebhook{}).ValidateCreate(ctx, service)
	return errors.Join(err, utils.ValidateRayServiceSpec(service))
}

type noIndexes struct{}

func (noIndexes) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

// A TrainJob is judged beside the runtimes that it names, which come in the same list.
func trainJob(ctx context.Context, items []unstructured.Unstructured) (func(context.Context, map[string]any) error, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme,
		schedulerplugins.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	known := map[string]bool{}
	for _, item := range items {
		if item.GetKind() != "ClusterTrainingRuntime" || known[item.GetName()] {
			continue
		}
		known[item.GetName()] = true
		one, err := decode[trainer.ClusterTrainingRuntime](item.Object)
		if err != nil {
			return nil, err
		}
		builder.WithObjects(one)
	}
	runtimes, err := trainercore.New(ctx, builder.Build(), noIndexes{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, content map[string]any) error {
		job, err := decode[trainer.TrainJob](content)
		if err != nil {
			return err
		}
		// As TrainJobWebhook, whose runtimes only its own package can set.
		var all []error
		for _, message := range validation.NameIsDNS1035Label(job.Name, false) {
			all = append(all, errors.New("metadata.name: "+message))
		}
		key := trainerruntime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)
		one, ok := runtimes[key]
		if !ok {
			return errors.Join(append(all, errors.New("unsupported runtime: "+key))...)
		}
		_, found := one.ValidateObjects(ctx, nil, job)
		return errors.Join(append(all, found.ToAggregate())...)
	}, nil
}

// judgesOf gives the judges by "apiVersion kind".
func judgesOf(ctx context.Context, items []unstructured.Unstructured) (map[string]judge, error) {
	jobSetWebhook, err := jobsetwebhooks.NewJobSetWebhook(nil)
	if err != nil {
		return nil, err
	}
	trainJobs, err := trainJob(ctx, items)
	if err != nil {
		return nil, err
	}
	return map[string]judge{
		"kubeflow.org/v1 PyTorchJob":      {"the webhook of training-operator", admitted[training.PyTorchJob](&pytorchwebhook.Webhook{})},
		"kubeflow.org/v2beta1 MPIJob":     {"the controller of mpi-operator", mpiJob},
		"jobset.x-k8s.io/v1alpha2 JobSet": {"the webhook of jobset", admitted[jobset.JobSet](jobSetWebhook)},
		"leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": {"the webhook of lws",
			admitted[lws.LeaderWorkerSet](&lwswebhooks.LeaderWorkerSetWebhook{})},
		"trainer.kubeflow.org/v1alpha1 TrainJob": {"the webhook of trainer", trainJobs},
		"trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime": {"the webhook of trainer",
			admitted[trainer.ClusterTrainingRuntime](&trainerwebhooks.ClusterTrainingRuntimeWebhook{})},
		"ray.io/v1 RayCluster": {"the webhook and the controller of kuberay", rayCluster},
		"ray.io/v1 RayJob":     {"the webhook and the controller of kuberay", rayJob},
		"ray.io/v1 RayService": {"the webhook and the controller of kuberay", rayService},
	}, nil
}
