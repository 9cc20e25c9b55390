import { ETCD_INDEX } from "#access/calls.ts";
import { AccessReads } from "#access/reads.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { backupController, backupKeysFor, type OnEnd } from "#backup/controller.ts";
import { issuer } from "#certificates/issue.ts";
import { Keyring } from "#certificates/keyring.ts";
import {
  clusterController,
  clusterKeysFor,
  clusterKeysForBackup,
  clusterKeysForSchedule,
} from "#cluster/controller.ts";
import type { LastChecks } from "#cluster/observe/last-checks.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { KubeClient } from "#kube/client.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { peerController, peerKeysFor } from "#peer/controller.ts";
import { restoreController, restoreKeysFor } from "#restore/controller.ts";
import { roleController } from "#role/controller.ts";
import { ControlLoop, type LoopOptions } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import type { PassTools } from "#runtime/pass.ts";
import { scheduleController, scheduleKeysFor } from "#schedule/controller.ts";
import type { Shard } from "#shards/belonging.ts";
import { userController } from "#user/controller.ts";
import { BindingReads } from "#user/reads.ts";
import type { Caches } from "./caches.ts";
import {
  isEdit,
  isLoss,
  isStill,
  openBackupsOf,
  openRestoresOf,
  ownKey,
  peersOf,
  restoresFrom,
  targetOfRestore,
  textOf,
  usersWith,
} from "./concerned.ts";
import { decidersOf, narrowed } from "./deciders.ts";
import type { Flags } from "./flags.ts";

interface ControllersOptions {
  readonly caches: Caches;
  readonly kube: KubeClient;
  readonly etcd: EtcdClient;
  readonly flags: Flags;
  readonly tools: PassTools;
  /** Called for each backup that ends. */
  readonly onBackupEnd: OnEnd;
  /** Aborts work of controllers between their passes. */
  readonly stop: AbortSignal;
  /** The shard that this process leads; undefined: everything. */
  readonly shard?: Shard | undefined;
  /** Where checks of clusters are recorded. */
  readonly lastChecks: LastChecks;
}

/** The controllers, each with its watches and the objects that a change triggers (concerned.ts). */
export function controllersOf(options: ControllersOptions) {
  const { caches, kube, etcd, flags, tools, onBackupEnd, stop, shard, lastChecks } = options;
  const { clock } = tools;
  const decides = decidersOf(caches, shard);
  const loop = <Snapshot, Step extends { readonly do: string }, Status>(
    kind: keyof typeof decides,
    options: Omit<LoopOptions<Snapshot, Step, Status>, "tools">,
  ) => {
    const all = { ...options, tools };
    return new ControlLoop(shard === undefined ? all : narrowed(all, decides[kind]));
  };
  const identities = new Keyring();
  const reads = {
    ...caches,
    kube,
    etcd,
    identities,
    clock,
    imageRepository: flags.imageRepository,
    agentImage: flags.agentImage,
    runningBackups: flags.runningBackups,
    replaceAfterMs: flags.replaceAfterMs,
    memberTimeoutMs: flags.memberTimeoutMs,
    rereadWithinMs: flags.rereadWithinMs,
    operatorNamespace: flags.operatorNamespace,
    // The cache also has a few fields of other shards' clusters; this estimates the number of this shard's.
    fleetSize: () => caches.clusters.size / (shard?.of ?? 1),
    lastChecks,
    onGap: (ms: number) => tools.metrics.unwatchedSeconds.inc(ms / 1_000),
  };
  const access = new AccessReads({ ...reads, etcd, stop });
  const bindings = new BindingReads(kube, clock);
  const keysOf = (objects: readonly KubeObject[]): readonly Key[] => objects.flatMap(ownKey);
  const own = { keysFor: ownKey, isUrgent: isEdit };
  const byCluster = { keysFor: clusterKeysFor };
  const byPeer = { keysFor: peerKeysFor };
  return [
    loop("cluster", {
      controller: clusterController({ kube, etcd, identities, issuer }, reads),
      watches: [
        { cache: caches.clusters, ...own },
        { cache: caches.backups, keysFor: clusterKeysForBackup },
        { cache: caches.schedules, keysFor: (schedule) => clusterKeysForSchedule(schedule as EtcdBackupSchedule) },
        ...[caches.peers, caches.services, caches.budgets, caches.networkPolicies, caches.claims].map((cache) => ({
          cache,
          ...byCluster,
        })),
        { cache: caches.pods, ...byCluster, isUrgent: isLoss },
        { cache: caches.restores, keysFor: targetOfRestore },
      ],
      allKeys: () => keysOf(caches.clusters.list("known")),
    }),
    loop("peer", {
      controller: peerController(kube, reads),
      watches: [
        { cache: caches.peers, keysFor: ownKey },
        // A change of a cluster concerns its members only if it begins or ends a pause or a sleep.
        { cache: caches.clusters, keysFor: (cluster) => (isStill(cluster) ? keysOf(peersOf(caches, cluster)) : []) },
        ...[caches.claims, caches.replicaSets].map((cache) => ({ cache, ...byPeer })),
        { cache: caches.pods, ...byPeer, isUrgent: isLoss },
      ],
      allKeys: () => keysOf(caches.peers.list("known")),
    }),
    loop("backup", {
      controller: backupController(kube, reads, onBackupEnd),
      watches: [
        { cache: caches.backups, ...own },
        { cache: caches.clusters, keysFor: (cluster) => keysOf(openBackupsOf(caches, cluster)) },
        ...[caches.jobs, caches.pods].map((cache) => ({ cache, keysFor: backupKeysFor })),
      ],
      allKeys: () => keysOf(caches.backups.list("known")),
    }),
    loop("schedule", {
      controller: scheduleController(kube, reads),
      watches: [
        { cache: caches.schedules, ...own },
        { cache: caches.backups, keysFor: scheduleKeysFor },
      ],
      allKeys: () => keysOf(caches.schedules.list("known")),
    }),
    loop("restore", {
      controller: restoreController(kube, reads),
      watches: [
        { cache: caches.restores, ...own },
        { cache: caches.clusters, keysFor: (cluster) => keysOf(openRestoresOf(caches, cluster)) },
        { cache: caches.backups, keysFor: (backup) => keysOf(restoresFrom(caches, backup)) },
        ...[caches.jobs, caches.pods].map((cache) => ({ cache, keysFor: restoreKeysFor })),
      ],
      allKeys: () => keysOf(caches.restores.list("known")),
    }),
    loop("role", {
      controller: roleController({ kube, access }, { ...caches, access, clock }),
      watches: [
        { cache: caches.roles, ...own },
        {
          cache: caches.clusters,
          keysFor: (cluster) => keysOf(caches.roles.byIndex(ETCD_INDEX, textOf(cluster), "known")),
        },
      ],
      allKeys: () => keysOf(caches.roles.list("known")),
    }),
    loop("user", {
      controller: userController({ kube, access, bindings, issuer }, { ...reads, access, bindings }),
      watches: [
        { cache: caches.users, ...own },
        {
          cache: caches.clusters,
          keysFor: (cluster) => keysOf(caches.users.byIndex(ETCD_INDEX, textOf(cluster), "known")),
        },
        { cache: caches.roles, keysFor: (role) => keysOf(usersWith(caches, role as EtcdRole)) },
      ],
      allKeys: () => keysOf(caches.users.list("known")),
    }),
  ] as const;
}
