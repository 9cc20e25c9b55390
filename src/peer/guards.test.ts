import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLEANUP_FINALIZER,
  QUARANTINE_FINALIZER,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { born, claim } from "#kit/snapshots/cluster.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { OWN_PEM } from "#kit/tables/authorities.ts";
import { testJudged } from "#kit/tables/judged-kinds.ts";
import type { Pod, ReplicaSet } from "#kube/kinds.ts";
import { startAnnotations } from "#peer/desired/etcd-flags.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";

const fenced = peer();
const starting = peer({ stage: "starting" });
const sleeping = peer({ with: { isAsleep: true } });
const own = fenced.claim!;
const foreignSet = born<ReplicaSet>({
  ...replicaSet(fenced),
  metadata: { ...replicaSet(fenced).metadata, ownerReferences: [] },
});

/** One step of every kind, with objects of the member itself, and fenced. */
const STEPS: { readonly [Kind in PeerStep["do"]]: Extract<PeerStep, { do: Kind }> } = {
  createClaim: { do: "createClaim", claim: volumeClaim(fenced) },
  deleteClaim: { do: "deleteClaim", claim: own },
  quarantineClaim: { do: "quarantineClaim", claim: own, reason: "replacement", at: "2026-01-01T12:00:00Z" },
  annotateClaim: { do: "annotateClaim", claim: own, annotations: {} },
  labelClaim: { do: "labelClaim", claim: own, labels: {} },
  releasePeer: { do: "releasePeer", finalizer: CLEANUP_FINALIZER },
  annotatePod: { do: "annotatePod", pod: fenced.pod!, annotations: startAnnotations(fenced) },
  createReplicaSet: { do: "createReplicaSet", replicaSet: replicaSet(fenced) },
  replaceReplicaSet: { do: "replaceReplicaSet", live: fenced.replicaSet!, replicaSet: replicaSet(fenced) },
};

const SHOWN = { peer: "my-etcd-peer-tls", client: "my-etcd-server-tls" };
const secured = peer({
  spec: {
    tls: { peer: { secretName: SHOWN.peer, trust: OWN_PEM }, client: { secretName: SHOWN.client, trust: OWN_PEM } },
  },
});

/** The member of an EtcdCluster with these Secrets for members. */
function knowing(...shownSecrets: readonly string[]): PeerSnapshot {
  return { ...fenced, shownSecrets };
}

/** The step for a pod that mounts both Secrets. */
function showing(kind: "createReplicaSet" | "replaceReplicaSet"): PeerStep {
  return { ...STEPS[kind], replicaSet: replicaSet(secured) } as PeerStep;
}

/** A pod of the member's template. */
function podOf(snapshot: PeerSnapshot): Pod {
  const { spec } = replicaSet(snapshot).spec?.template ?? {};
  return { ...snapshot.pod!, ...(spec === undefined ? {} : { spec }) } as Pod;
}

interface Case {
  readonly name: string;
  readonly given: PeerSnapshot;
  readonly step: PeerStep;
  readonly is: "forbidden" | "allowed";
}

/** The verdict of each guard alone. */
const cases: Record<string, readonly Case[]> = {
  "claim-first": [
    {
      name: "forbids a pod when its claim does not exist",
      given: peer({ with: { claim: undefined } }),
      step: STEPS.createReplicaSet,
      is: "forbidden",
    },
    {
      name: "forbids a pod on a claim of another cluster",
      given: peer({ with: { claim: claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" }) } }),
      step: STEPS.createReplicaSet,
      is: "forbidden",
    },
    { name: "allows a pod on the member's own claim", given: fenced, step: STEPS.createReplicaSet, is: "allowed" },
    {
      name: "allows replacing an existing ReplicaSet without a claim, as the fence needs",
      given: peer({ with: { claim: undefined } }),
      step: STEPS.replaceReplicaSet,
      is: "allowed",
    },
  ],
  "token-is-here": [
    ...(["createClaim", "createReplicaSet", "replaceReplicaSet"] as const).flatMap((kind): readonly Case[] => [
      {
        name: `${kind}: allows an EtcdPeer with the token of its cluster`,
        given: fenced,
        step: STEPS[kind],
        is: "allowed",
      },
      {
        name: `${kind}: forbids an EtcdPeer with a token of another namespace`,
        given: peer({ spec: { clusterToken: "prod/my-etcd/uid-of-cluster" } }),
        step: STEPS[kind],
        is: "forbidden",
      },
      {
        name: `${kind}: forbids an EtcdPeer with a token of another cluster`,
        given: peer({ spec: { clusterToken: "foo/other/uid-of-cluster" } }),
        step: STEPS[kind],
        is: "forbidden",
      },
      {
        name: `${kind}: forbids an EtcdPeer with a token of another form`,
        given: peer({ spec: { clusterToken: "my-token" } }),
        step: STEPS[kind],
        is: "forbidden",
      },
      {
        name: `${kind}: allows an EtcdPeer without a token`,
        given: peer({ spec: { clusterToken: undefined } }),
        step: STEPS[kind],
        is: "allowed",
      },
    ]),
    {
      name: "allows a step that starts no pod with a token of another namespace",
      given: peer({ spec: { clusterToken: "prod/my-etcd/uid-of-cluster" } }),
      step: STEPS.labelClaim,
      is: "allowed",
    },
  ],
  "never-twice": [
    {
      name: "forbids a new claim for a member that has joined",
      given: fenced,
      step: STEPS.createClaim,
      is: "forbidden",
    },
    {
      name: "allows a new claim for a member that has not joined",
      given: starting,
      step: STEPS.createClaim,
      is: "allowed",
    },
    ...(["createReplicaSet", "replaceReplicaSet"] as const).flatMap((kind): readonly Case[] => [
      {
        name: `${kind}: forbids bootstrap flags for a member that has joined`,
        given: fenced,
        step: { ...STEPS[kind], replicaSet: replicaSet(starting) } as PeerStep,
        is: "forbidden",
      },
      {
        name: `${kind}: allows flags with which a joined member cannot bootstrap`,
        given: fenced,
        step: STEPS[kind],
        is: "allowed",
      },
      {
        name: `${kind}: allows bootstrap flags for a member that has not joined`,
        given: starting,
        step: { ...STEPS[kind], replicaSet: replicaSet(starting) } as PeerStep,
        is: "allowed",
      },
    ]),
    {
      name: "annotatePod: forbids bootstrap flags for a member that has joined",
      given: fenced,
      step: { ...STEPS.annotatePod, annotations: startAnnotations(starting) },
      is: "forbidden",
    },
    {
      name: "annotatePod: allows flags with which a joined member cannot bootstrap",
      given: fenced,
      step: STEPS.annotatePod,
      is: "allowed",
    },
    {
      name: "annotatePod: forbids keeping bootstrap flags on the pod of a joined member",
      given: fenced,
      step: { do: "annotatePod", pod: starting.pod!, annotations: {} },
      is: "forbidden",
    },
    {
      name: "annotatePod: allows other annotations on a fenced pod",
      given: fenced,
      step: { do: "annotatePod", pod: fenced.pod!, annotations: {} },
      is: "allowed",
    },
    ...(["deleteClaim", "quarantineClaim", "labelClaim", "releasePeer"] as const).map(
      (kind): Case => ({
        name: `${kind}: is allowed, as it starts no pod`,
        given: fenced,
        step: STEPS[kind],
        is: "allowed",
      }),
    ),
  ],
  "asked-to-delete": [
    {
      name: "allows deleting the claim after a scale-down",
      given: because("scale-down", leaving([CLEANUP_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "allowed",
    },
    {
      name: "allows deleting the claim of a member that never started",
      given: because("never-started", leaving([CLEANUP_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "allowed",
    },
    {
      name: "forbids deleting the claim when the EtcdPeer has no removal reason",
      given: leaving([CLEANUP_FINALIZER]),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "forbids deleting the claim of a member that is replaced",
      given: because("replacement", leaving([CLEANUP_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "forbids deleting the claim when the EtcdPeer is not being deleted",
      given: because("scale-down", peer({ finalizers: [CLEANUP_FINALIZER] })),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "forbids deleting the claim when the finalizer requires quarantine",
      given: because("scale-down", leaving([QUARANTINE_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "forbids deleting the claim when the deleted EtcdPeer has no finalizer",
      given: because("scale-down", peer({ deleting: true })),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "forbids deleting another member's claim",
      given: because("scale-down", leaving([CLEANUP_FINALIZER])),
      step: { do: "deleteClaim", claim: claim("my-etcd-0") },
      is: "forbidden",
    },
    { name: "allows a quarantine", given: fenced, step: STEPS.quarantineClaim, is: "allowed" },
  ],
  "stop-is-asked": [
    ...(["createReplicaSet", "replaceReplicaSet"] as const).flatMap((kind): readonly Case[] => {
      const stopping = { ...STEPS[kind], replicaSet: replicaSet(sleeping) } as PeerStep;
      return [
        {
          name: `${kind}: forbids stopping a member of a cluster that does not sleep`,
          given: fenced,
          step: stopping,
          is: "forbidden",
        },
        {
          name: `${kind}: allows stopping a member of a cluster that sleeps`,
          given: sleeping,
          step: stopping,
          is: "allowed",
        },
        {
          name: `${kind}: allows running a member of a cluster that does not sleep`,
          given: fenced,
          step: STEPS[kind],
          is: "allowed",
        },
      ];
    }),
    {
      name: "allows a stopped member to stay stopped",
      given: fenced,
      step: {
        do: "replaceReplicaSet",
        live: born<ReplicaSet>(replicaSet(sleeping)),
        replicaSet: replicaSet(sleeping),
      },
      is: "allowed",
    },
    { name: "allows other steps", given: fenced, step: STEPS.labelClaim, is: "allowed" },
  ],
  "known-secrets": [
    ...(["createReplicaSet", "replaceReplicaSet"] as const).flatMap((kind): readonly Case[] => [
      {
        name: `${kind}: forbids two Secrets that the EtcdCluster does not use`,
        given: knowing(),
        step: showing(kind),
        is: "forbidden",
      },
      {
        name: `${kind}: forbids two Secrets of which the EtcdCluster uses only one`,
        given: knowing("my-etcd-peer-tls"),
        step: showing(kind),
        is: "forbidden",
      },
      {
        name: `${kind}: allows Secrets that the EtcdCluster uses`,
        given: knowing(...Object.values(SHOWN)),
        step: showing(kind),
        is: "allowed",
      },
      { name: `${kind}: allows a pod without Secrets`, given: knowing(), step: STEPS[kind], is: "allowed" },
      {
        name: `${kind}: allows other Secrets that the pod mounts already`,
        given: { ...knowing(), pod: podOf(secured) },
        step: showing(kind),
        is: "allowed",
      },
      {
        name: `${kind}: forbids another Secret when no pod mounts it`,
        given: { ...knowing("my-etcd-peer-tls"), pod: undefined },
        step: showing(kind),
        is: "forbidden",
      },
    ]),
    {
      name: "allows other Secrets that the ReplicaSet mounts already",
      given: knowing(),
      step: { do: "replaceReplicaSet", live: born<ReplicaSet>(replicaSet(secured)), replicaSet: replicaSet(secured) },
      is: "allowed",
    },
    {
      name: "allows steps that mount nothing",
      given: { ...knowing(), peer: secured.peer },
      step: STEPS.annotatePod,
      is: "allowed",
    },
  ],
  "own-only": [
    {
      name: "forbids replacing a ReplicaSet of another owner",
      given: fenced,
      step: { ...STEPS.replaceReplicaSet, live: foreignSet },
      is: "forbidden",
    },
    ...(["quarantineClaim", "labelClaim", "annotateClaim"] as const).map(
      (kind): Case => ({
        name: `forbids ${kind} for a claim with data of another member`,
        given: fenced,
        step: { ...STEPS[kind], claim: { ...own, metadata: { ...own.metadata, annotations: {} } } } as PeerStep,
        is: "forbidden",
      }),
    ),
    ...Object.values(STEPS).map(
      (step): Case => ({
        name: `allows ${step.do} for the EtcdPeer's own objects`,
        given: fenced,
        step,
        is: "allowed",
      }),
    ),
  ],
};

/** The peer with this reason for its removal. */
function because(removal: string, snapshot: PeerSnapshot): PeerSnapshot {
  const { metadata } = snapshot.peer;
  const annotations = { ...metadata.annotations, [REMOVAL_ANNOTATION]: removal };
  return { ...snapshot, peer: { ...snapshot.peer, metadata: { ...metadata, annotations } } };
}

function leaving(finalizers: readonly string[]): PeerSnapshot {
  return peer({ deleting: true, finalizers });
}

for (const [guard, promises] of Object.entries(cases)) {
  for (const { name, given, step, is } of promises) {
    test(`peer guards: ${guard}: ${name}`, () => {
      const why = PEER_GUARDS.find((each) => each.name === guard)!.forbids(given, step);
      expect(why === undefined ? "allowed" : "forbidden", why).toBe(is);
    });
  }
}

test("peer guards: each guard has an allowed and a forbidden case", () => {
  expect(Object.keys(cases).sort()).toEqual(PEER_GUARDS.map(({ name }) => name).sort());
  for (const [guard, promises] of Object.entries(cases))
    expect([guard, ...new Set(promises.map(({ is }) => is))].sort()).toEqual([guard, "allowed", "forbidden"].sort());
});

/** Which guards judge which kind of step: every other guard permits it whatever the snapshot is. */
const JUDGED_BY: Readonly<Record<PeerStep["do"], readonly string[]>> = {
  createClaim: ["token-is-here", "never-twice"],
  deleteClaim: ["asked-to-delete"],
  quarantineClaim: ["own-only"],
  labelClaim: ["own-only"],
  annotateClaim: ["own-only"],
  releasePeer: [],
  annotatePod: ["never-twice"],
  createReplicaSet: ["token-is-here", "claim-first", "never-twice", "stop-is-asked", "known-secrets"],
  replaceReplicaSet: ["token-is-here", "never-twice", "stop-is-asked", "known-secrets", "own-only"],
};
testJudged(
  PEER_GUARDS,
  STEPS,
  JUDGED_BY,
  Object.entries(cases).flatMap(([guard, promises]) => promises.map((each) => ({ guard, ...each }))),
);
