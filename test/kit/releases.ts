import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { askedIn, revisionOf } from "#api/revision.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { fencedPeer } from "#cluster/members/desired/peer.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { born, cluster } from "#kit/snapshots/cluster.ts";
import { peer } from "#kit/snapshots/peer.ts";
import type { Draft, ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";

// Objects that a release writes, as files. A later release must derive the same EtcdPeers and ReplicaSets from the same
// EtcdClusters, or an update of the operator restarts members.
//
// At a release: `node test/kit/write-release.ts VERSION`. Files of earlier releases are never changed.

const FOLDER = join(import.meta.dirname, "../unit/releases");

/** An EtcdCluster and what a release wrote for one of its members. */
export interface Written {
  readonly cluster: EtcdCluster;
  readonly peers: readonly EtcdPeer[];
  readonly replicaSet: Draft<ReplicaSet>;
}

const PLAIN = { peer: { provider: "None" }, client: { provider: "None" } };

/** Specs of which each field reaches the pods of members. */
const SPECS: Readonly<Record<string, object>> = {
  "without TLS": { tls: PLAIN },
  "with TLS": {},
  "with options of etcd": {
    tls: PLAIN,
    etcd: { backendQuota: "4Gi", autoCompaction: { mode: "Periodic", period: "1h" }, extraArgs: ["--log-level=debug"] },
  },
  "with a pod template": {
    tls: PLAIN,
    podTemplate: {
      metadata: { labels: { team: "shop" }, annotations: { note: "kept" } },
      spec: {
        nodeSelector: { pool: "etcd" },
        terminationGracePeriodSeconds: 60,
        containers: [
          { name: "etcd", resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { memory: "2Gi" } } },
          { name: "sidecar", image: "registry.example/sidecar:1" },
        ],
      },
    },
  },
};

/** What this build writes, by the name of the sample. */
export function writtenNow(): Readonly<Record<string, Written>> {
  return Object.fromEntries(
    Object.entries(SPECS).map(([name, spec]) => {
      // Peers of a settled snapshot do not follow its spec. Those of a new one do.
      const snapshot = cluster({ spec, stage: "new" });
      const identity = newIdentity(snapshot);
      const first = born<EtcdPeer>(fencedPeer(snapshot, identity, "my-etcd-0"));
      const stored = { ...snapshot.cluster, status: { ...snapshot.cluster.status, identity } } as EtcdCluster;
      return [name, { cluster: stored, peers: [first], replicaSet: replicaSetOf(first) }];
    }),
  );
}

/** The template, EtcdPeer and ReplicaSet that this build wants for the first member of a cluster that a release made. */
export function wantedFor({ cluster: stored, peers }: Written) {
  const [first] = peers;
  const identity = stored.status?.identity;
  if (first === undefined || identity === undefined) throw new Error("the EtcdCluster has no members");
  const snapshot = cluster({ spec: stored.spec, with: { cluster: stored, peers } });
  return {
    template: revisionOf(askedIn(stored.spec, memberTls(snapshot))),
    peer: fencedPeer(snapshot, identity, first.metadata.name),
    replicaSet: replicaSetOf(first),
  };
}

function replicaSetOf(one: EtcdPeer): Draft<ReplicaSet> {
  return replicaSet(peer({ with: { peer: one } }));
}

/** Releases with files, oldest first. */
export function releases(): readonly string[] {
  return readdirSync(FOLDER)
    .map((file) => file.replace(/\.json$/, ""))
    .sort();
}

export function writtenBy(release: string): Readonly<Record<string, Written>> {
  return JSON.parse(readFileSync(join(FOLDER, `${release}.json`), "utf8"));
}

/** Writes the file of a release. */
export function writeRelease(release: string): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, `${release}.json`), `${JSON.stringify(writtenNow(), undefined, 2)}\n`, { flag: "wx" });
}
