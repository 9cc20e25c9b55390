// Pages with blocks that run on the local Kubernetes, and what must be there before a reader begins with them.

export interface Page {
  /**
   * `quick` with the other end-to-end tests, beside them; `long` in a chapter of the long tests, alone; `own` in a test
   * of its own.
   */
  readonly lane: "quick" | "long" | "own";
  /** Script that runs before the page: what the reader has done on an earlier page. */
  readonly before: string;
  /** Script that runs after the page: a look at its effect, or the removal of what other tests must not meet. */
  readonly after?: string;
}

const CLUSTER = `
kubectl apply -f examples/quickstart.yaml
kubectl wait --for=condition=Ready etcdcluster/my-etcd --timeout=5m
`;

/** A claim instead of the bucket of the examples: the local Kubernetes has no way to a store of a cloud. */
const ON_A_CLAIM = `
sed -i -e '/s3:/,/secretName/d' -e 's/# \\(volume:\\)/\\1/' -e 's/#   \\(claimName:\\)/  \\1/' examples/backup.yaml
sed -i -e '/ s3:/,/secretName/d' -e 's/^\\( *\\)destination:/\\1destination:\\n\\1  volume:\\n\\1    claimName: backups/' examples/backup-schedule.yaml
kubectl apply -f - <<'END'
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: backups
  labels: { etcd.improbable.io/backup-destination: "true" }
spec:
  accessModes: [ReadWriteOnce]
  resources: { requests: { storage: 1Gi } }
END
`;

const ON_GROWING_VOLUMES = `
kubectl apply -f kit/growing-class.yaml
sed -i 's/^spec:/spec:\\n  storage: { storageClassName: growing }/' examples/quickstart.yaml
`;

/** The plugin from its sources instead of an installed program. */
const PLUGIN = `
mkdir bin
printf '#!/bin/sh\\nexec node %s/src/plugin/main.ts "$@"\\n' "$PWD" > bin/kubectl-etcd
chmod +x bin/kubectl-etcd
export PATH=$PWD/bin:$PATH
`;

const OPERATOR_RUNS = "kubectl -n etcd-operator-system rollout status deployment/etcd-cluster-operator --timeout=5m";

/** The pages, by path from the root of the repository. */
export const PAGES: Readonly<Record<string, Page>> = {
  "README.md": { lane: "quick", before: CLUSTER },
  "docs/connect.md": { lane: "quick", before: CLUSTER },
  "docs/users.md": {
    lane: "quick",
    before: `${CLUSTER}kubectl patch etcdcluster my-etcd --type merge -p '{"spec":{"auth":{"enabled":true}}}'`,
  },
  "docs/change.md": { lane: "quick", before: CLUSTER },
  "docs/plugin.md": { lane: "quick", before: `${CLUSTER}${PLUGIN}` },
  "docs/tls.md": { lane: "quick", before: CLUSTER },
  "docs/troubleshooting.md": {
    lane: "quick",
    before: `${ON_GROWING_VOLUMES}${CLUSTER}`,
    after: "kubectl delete storageclass growing",
  },
  "docs/backup.md": {
    lane: "long",
    before: `${CLUSTER}${ON_A_CLAIM}kubectl apply -f examples/backup-schedule.yaml`,
    after: "kubectl wait --for=jsonpath='{.status.dryRun}' etcdbackupschedule/my-etcd --timeout=2m",
  },
  "docs/restore.md": {
    lane: "long",
    before: `${CLUSTER}${ON_A_CLAIM}
kubectl apply -f examples/backup.yaml
kubectl wait --for=condition=Complete etcdbackup/my-etcd-1 --timeout=5m`,
    after: "kubectl wait --for=condition=Ready etcdcluster/my-etcd-restored --timeout=5m",
  },
  "docs/move-here.md": {
    lane: "long",
    before: `kubectl apply -f kit/old-etcd.yaml
kubectl rollout status statefulset/old-etcd --timeout=5m
kubectl exec old-etcd-0 -- etcdctl put moved yes`,
    after: "kubectl exec rs/my-etcd-0 -c etcd -- etcdctl get moved | grep yes",
  },
  "docs/install.md": {
    lane: "long",
    before: "kubectl create namespace shop --dry-run=client -o yaml | kubectl apply -f -",
    after: `grep -q registry.example/operator:1 operator.yaml
kubectl -n etcd-operator-system patch serviceaccount etcd-cluster-operator -p '{"imagePullSecrets":null}'
kubectl delete namespace shop --wait=false`,
  },
  "docs/only-the-bucket-is-left.md": { lane: "own", before: "" }, // test/long/only-the-bucket.test.ts
  "docs/fleets.md": { lane: "long", before: "", after: OPERATOR_RUNS },
};

/** @returns path and page of each page of a lane */
export function pagesOf(lane: Page["lane"]): readonly (readonly [path: string, page: Page])[] {
  return Object.entries(PAGES).filter(([, page]) => page.lane === lane);
}
