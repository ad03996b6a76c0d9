#!/bin/bash
# MariaDB (socket only) and slurmdbd of the testbed's controller: HOME.
set -eu
home=$1
chown mysql: "$home/mysql"
install -d -o mysql -g mysql /run/mysqld
mariadb-install-db --no-defaults --user=mysql --datadir="$home/mysql" --skip-test-db \
  --auth-root-authentication-method=socket >/dev/null
mariadbd --no-defaults --user=mysql --datadir="$home/mysql" --socket=/run/mysqld/mysqld.sock \
  --pid-file=/run/mysqld/mariadb.pid --skip-networking --innodb-buffer-pool-size=64M \
  --innodb-lock-wait-timeout=900 &
for _ in $(seq 200); do
  mariadb-admin ping >/dev/null 2>&1 && break
  sleep 0.05
done
mariadb --execute "create database slurm_acct_db; create user slurm@localhost identified by 'testbed';
  grant all on slurm_acct_db.* to slurm@localhost"
slurmdbd
for _ in $(seq 200); do
  (: >/dev/tcp/ctl/6819) 2>/dev/null && break
  sleep 0.05
done
sacctmgr --immediate add cluster testbed >/dev/null
