import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLEANUP_FINALIZER,
  QUARANTINE_FINALIZER,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { OWN_PEM } from "#kit/authorities.ts";
import { born, claim } from "#kit/cluster.ts";
import { peer } from "#kit/peer.ts";
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

/** One step of every kind, each about what is the member's own, and fenced. */
const STEPS: { readonly [Kind in PeerStep["do"]]: Extract<PeerStep, { do: Kind }> } = {
  createClaim: { do: "createClaim", claim: volumeClaim(fenced) },
  deleteClaim: { do: "deleteClaim", claim: own },
  quarantineClaim: { do: "quarantineClaim", claim: own, reason: "replacement", at: "2026-01-01T12:00:00Z" },
  annotateClaim: { do: "annotateClaim", claim: own, scheme: "https" },
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

/** A member whose EtcdCluster has members show these. */
function knowing(...shownSecrets: readonly string[]): PeerSnapshot {
  return { ...fenced, shownSecrets };
}

/** The step by which a pod would show both. */
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

/** What each guard says of a step, whatever the other guards say. */
const cases: Record<string, readonly Case[]> = {
  "claim-first": [
    {
      name: "no pod before its claim",
      given: peer({ with: { claim: undefined } }),
      step: STEPS.createReplicaSet,
      is: "forbidden",
    },
    {
      name: "no pod on a claim of another cluster",
      given: peer({ with: { claim: claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" }) } }),
      step: STEPS.createReplicaSet,
      is: "forbidden",
    },
    { name: "a pod on its own claim", given: fenced, step: STEPS.createReplicaSet, is: "allowed" },
    {
      name: "a ReplicaSet that is there may be changed without a claim: that is how it is fenced",
      given: peer({ with: { claim: undefined } }),
      step: STEPS.replaceReplicaSet,
      is: "allowed",
    },
  ],
  "never-twice": [
    { name: "no empty volume for who has joined", given: fenced, step: STEPS.createClaim, is: "forbidden" },
    { name: "a volume for who has yet to join", given: starting, step: STEPS.createClaim, is: "allowed" },
    ...(["createReplicaSet", "replaceReplicaSet"] as const).flatMap((kind): readonly Case[] => [
      {
        name: `${kind}: no means to bootstrap for who has joined`,
        given: fenced,
        step: { ...STEPS[kind], replicaSet: replicaSet(starting) } as PeerStep,
        is: "forbidden",
      },
      { name: `${kind}: with the fence`, given: fenced, step: STEPS[kind], is: "allowed" },
      {
        name: `${kind}: the means to bootstrap for who has yet to join`,
        given: starting,
        step: { ...STEPS[kind], replicaSet: replicaSet(starting) } as PeerStep,
        is: "allowed",
      },
    ]),
    {
      name: "annotatePod: no means to bootstrap for who has joined",
      given: fenced,
      step: { ...STEPS.annotatePod, annotations: startAnnotations(starting) },
      is: "forbidden",
    },
    { name: "annotatePod: with the fence", given: fenced, step: STEPS.annotatePod, is: "allowed" },
    {
      name: "annotatePod: without a word of it, on a pod that can bootstrap",
      given: fenced,
      step: { do: "annotatePod", pod: starting.pod!, annotations: {} },
      is: "forbidden",
    },
    {
      name: "annotatePod: without a word of it, on a pod that cannot",
      given: fenced,
      step: { do: "annotatePod", pod: fenced.pod!, annotations: {} },
      is: "allowed",
    },
    ...(["deleteClaim", "quarantineClaim", "labelClaim", "releasePeer"] as const).map(
      (kind): Case => ({ name: `${kind} starts nothing`, given: fenced, step: STEPS[kind], is: "allowed" }),
    ),
  ],
  "asked-to-delete": [
    {
      name: "the claim goes with a peer that goes and says so",
      given: because("scale-down", leaving([CLEANUP_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "allowed",
    },
    {
      name: "the claim of a member that never started goes, too",
      given: because("never-started", leaving([CLEANUP_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "allowed",
    },
    {
      name: "a finalizer that outlived its reason costs no claim",
      given: leaving([CLEANUP_FINALIZER]),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "the claim of a member that is replaced is kept",
      given: because("replacement", leaving([CLEANUP_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "the claim of a peer that stays is kept, whatever it says",
      given: because("scale-down", peer({ finalizers: [CLEANUP_FINALIZER] })),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "the claim of a peer that goes and does not say so is kept",
      given: because("scale-down", leaving([QUARANTINE_FINALIZER])),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "the claim of a peer that says nothing is kept",
      given: because("scale-down", peer({ deleting: true })),
      step: STEPS.deleteClaim,
      is: "forbidden",
    },
    {
      name: "a claim of another member is kept",
      given: because("scale-down", leaving([CLEANUP_FINALIZER])),
      step: { do: "deleteClaim", claim: claim("my-etcd-0") },
      is: "forbidden",
    },
    { name: "to put a claim aside nobody has to ask", given: fenced, step: STEPS.quarantineClaim, is: "allowed" },
  ],
  "stop-is-asked": [
    ...(["createReplicaSet", "replaceReplicaSet"] as const).flatMap((kind): readonly Case[] => {
      const stopping = { ...STEPS[kind], replicaSet: replicaSet(sleeping) } as PeerStep;
      return [
        { name: `${kind}: nobody is stopped who is not to sleep`, given: fenced, step: stopping, is: "forbidden" },
        { name: `${kind}: who is to sleep is`, given: sleeping, step: stopping, is: "allowed" },
        { name: `${kind}: who is to run is not`, given: fenced, step: STEPS[kind], is: "allowed" },
      ];
    }),
    {
      name: "who has no pod already may stay so",
      given: fenced,
      step: {
        do: "replaceReplicaSet",
        live: born<ReplicaSet>(replicaSet(sleeping)),
        replicaSet: replicaSet(sleeping),
      },
      is: "allowed",
    },
    { name: "other steps are for others to judge", given: fenced, step: STEPS.labelClaim, is: "allowed" },
  ],
  "known-secrets": [
    ...(["createReplicaSet", "replaceReplicaSet"] as const).flatMap((kind): readonly Case[] => [
      { name: `${kind}: none that is not known`, given: knowing(), step: showing(kind), is: "forbidden" },
      {
        name: `${kind}: none of which one is not known`,
        given: knowing("my-etcd-peer-tls"),
        step: showing(kind),
        is: "forbidden",
      },
      { name: `${kind}: those that are`, given: knowing(...Object.values(SHOWN)), step: showing(kind), is: "allowed" },
      { name: `${kind}: none at all`, given: knowing(), step: STEPS[kind], is: "allowed" },
      {
        name: `${kind}: those that its pod shows`,
        given: { ...knowing(), pod: podOf(secured) },
        step: showing(kind),
        is: "allowed",
      },
      {
        name: `${kind}: none when its pod is gone`,
        given: { ...knowing("my-etcd-peer-tls"), pod: undefined },
        step: showing(kind),
        is: "forbidden",
      },
    ]),
    {
      name: "those that the ReplicaSet has already",
      given: knowing(),
      step: { do: "replaceReplicaSet", live: born<ReplicaSet>(replicaSet(secured)), replicaSet: replicaSet(secured) },
      is: "allowed",
    },
    {
      name: "other steps have pods show nothing",
      given: { ...knowing(), peer: secured.peer },
      step: STEPS.annotatePod,
      is: "allowed",
    },
  ],
  "own-only": [
    {
      name: "a ReplicaSet that another owner manages is not replaced",
      given: fenced,
      step: { ...STEPS.replaceReplicaSet, live: foreignSet },
      is: "forbidden",
    },
    ...Object.values(STEPS).map(
      (step): Case => ({ name: `${step.do} is for what is the peer's own`, given: fenced, step, is: "allowed" }),
    ),
  ],
};

/** The peer with the reason of its removal on record. */
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

test("peer guards: each has promises above, and each of its answers is among them", () => {
  expect(Object.keys(cases).sort()).toEqual(PEER_GUARDS.map(({ name }) => name).sort());
  for (const [guard, promises] of Object.entries(cases))
    expect([guard, ...new Set(promises.map(({ is }) => is))].sort()).toEqual([guard, "allowed", "forbidden"].sort());
});
