import { CLIENT_SIGNER_ANNOTATION, KEY_FILE, PEER_SIGNER_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present } from "#base/observed.ts";
import { AUTHORITY_OF, leavesOf, purposesOf, SIDES } from "#cluster/certificates/purposes.ts";
import type { Phase } from "#cluster/certificates/rotation.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { CONFIG_MAPS, type Draft, type Pod, SECRETS, type Secret } from "#kube/kinds.ts";
import { step } from "#runtime/decide.ts";
import { FORMED, FORMING, SWITCHED } from "./leanings.ts";
import { doing, leftOut, leftUnguarded, type Mutant, replaced, seeing, unguarded } from "./mutant.ts";
import { credulousRestart } from "./mutants-cluster.ts";
import type { Leaning } from "./profile.ts";

// What the operator would do wrong about certificates.

const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const TLS = { peer: LIFE, client: LIFE };
const BORN: Leaning = { ...FORMING, tls: TLS };
/** People ask for other authorities, and mean it. */
const ROTATED: Leaning = { ...FORMED, tls: TLS, often: { askForRotation: 2 }, isTidied: false, steps: 60 };
const SPOILT: Leaning = { ...FORMED, tls: TLS, often: { spoilSecret: 2, time: 30 }, steps: 100 };
const DELETED: Leaning = { ...FORMED, tls: TLS, often: { deleteSecret: 2 }, steps: 60 };

const LEFT_OUT = leftOut("cluster", [
  { name: "certificate-ends", leaning: BORN, covered: "it only tells, by an event" },
  { name: "rotation-held", leaning: BORN, covered: "it only tells, by an event" },
  { name: "right-missing", leaning: BORN, covered: "it only tells, by an event" },
  { name: "authority", leaning: BORN },
  {
    name: "certificate-request",
    leaning: BORN,
    covered: "nobody has cert-manager in this world; see the mutants of courses",
  },
  { name: "leaf", leaning: BORN },
  {
    name: "hand-out",
    leaning: BORN,
    covered: "nobody has cert-manager in this world; see the mutants of courses",
  },
  { name: "trust-map", leaning: BORN },
  {
    name: "await-certificates",
    leaning: BORN,
    covered:
      "tls-stays lets nobody be made without; what it adds are the words, src/cluster/rules/certificates/plan.test.ts",
  },
  { name: "rotate-authority", leaning: ROTATED },
]);

const UNGUARDED = leftUnguarded("cluster", [
  {
    name: "tls-stepwise",
    leaning: BORN,
    covered:
      "nobody switches TLS on or off in these histories; src/cluster/guards/tls-switch.test.ts, src/cluster/forbidden.test.ts",
  },
  {
    name: "allowed-secrets",
    leaning: BORN,
    covered: "nobody names a Secret of their own in this world; see the mutants of courses",
  },
  {
    name: "trusted-first",
    leaning: ROTATED,
    covered: "the rules wait themselves; see the pairs",
    promise: "trusted first",
  },
  {
    name: "shown-when-trusted",
    leaning: ROTATED,
    covered: "nobody changes a provider in this world; see the mutants of courses",
  },
  {
    name: "trust-kept",
    leaning: ROTATED,
    covered: "nobody changes a provider in this world; see the mutants of courses",
  },
  { name: "still-believed", leaning: SPOILT },
  {
    name: "authority-kept",
    leaning: DELETED,
    covered: "a create finds what is there, and a rule looks first; src/cluster/guards/trust.test.ts",
  },
]);

/** A rotation that does not wait for anybody. */
function hasty(phase: Phase, is: (live: SeenCertificate) => boolean) {
  return replaced("rotate-authority", (real, snapshot) => {
    for (const side of SIDES) {
      const found = snapshot.certificates?.[AUTHORITY_OF[side]];
      if (found?.is !== "present" || found.value.trouble !== undefined || !is(found.value)) continue;
      return step("rotate-authority", "there is no time", { do: "rotateAuthority", side, phase, facts: found.value });
    }
    return real.decide(snapshot);
  });
}

const switches = hasty("switch", ({ nextId }) => nextId !== undefined);
const drops = hasty("drop", ({ nextId, trustIds }) => nextId === undefined && trustIds.length > 1);

/** Whoever signs now has signed everything at once. */
const signs = replaced("leaf", (real, snapshot) => {
  for (const side of SIDES) {
    const authority = snapshot.certificates?.[AUTHORITY_OF[side]];
    if (authority?.is !== "present" || authority.value.trouble !== undefined) continue;
    for (const purpose of leavesOf(snapshot.cluster, side)) {
      const found = snapshot.certificates?.[purpose];
      if (found?.is !== "present" || found.value.signerId === authority.value.fingerprint) continue;
      const made = { do: "issueLeaf", purpose, authority: authority.value, facts: found.value } as const;
      return step("leaf", "there is no time", made);
    }
  }
  return real.decide(snapshot);
});

/** Takes what is in a Secret for what everybody has had for long. */
function longKnown(snapshot: ClusterSnapshot): ClusterSnapshot {
  const certificates: Record<string, unknown> = { ...snapshot.certificates };
  for (const purpose of purposesOf(snapshot.cluster)) {
    const found = snapshot.certificates?.[purpose];
    if (found?.is === "present")
      certificates[purpose] = present({ ...found.value, knownForMs: Number.POSITIVE_INFINITY });
  }
  return { ...snapshot, certificates };
}

/** Takes what is in a Secret for what every pod has. */
function longBrought(snapshot: ClusterSnapshot): ClusterSnapshot {
  const signer = (side: Side) => {
    const found = snapshot.certificates?.[AUTHORITY_OF[side]];
    return found?.is === "present" ? found.value.fingerprint : undefined;
  };
  const signers = { [PEER_SIGNER_ANNOTATION]: signer("peer"), [CLIENT_SIGNER_ANNOTATION]: signer("client") };
  const pods = [...snapshot.pods].map(([name, pod]) => {
    const annotations = { ...pod.metadata.annotations, ...signers };
    return [name, { ...pod, metadata: { ...pod.metadata, annotations } } as Pod] as const;
  });
  const peers = snapshot.peers.map((peer) => {
    const { peer: members, client, ...rest } = peer.spec.tls ?? {};
    const tls = {
      ...rest,
      ...(members && { peer: { ...members, signer: signer("peer") } }),
      ...(client && { client: { ...client, signer: signer("client") } }),
    };
    return { ...peer, spec: { ...peer.spec, tls } } as EtcdPeer;
  });
  // However new a pod is.
  const { podsForMs: _, ...certificates } = snapshot.certificates ?? {};
  return { ...snapshot, certificates, peers, pods: new Map(pods) };
}

/** What is written over an authority has another key than the one that has been announced. */
function overwriting(real: KubeClient): KubeClient {
  return {
    ...real,
    replace: (resource, draft, options) => {
      const { data, metadata } = draft as Draft<Secret>;
      if (resource !== SECRETS || !metadata.name.endsWith("-ca")) return real.replace(resource, draft, options);
      return real.replace(resource, { ...draft, data: { ...data, [KEY_FILE]: btoa("another one") } }, options);
    },
  } as KubeClient;
}

/** Members come to serve clients over TLS alone, without a time in which they serve both kinds. */
const oneWay = doing("give-turn", (step) => {
  if (step.do !== "replacePeer" || step.peer.spec?.tls?.client === undefined) return step;
  const { plaintext: _, ...client } = step.peer.spec.tls.client;
  return { ...step, peer: { ...step.peer, spec: { ...step.peer.spec, tls: { ...step.peer.spec.tls, client } } } };
});

function talkative(real: KubeClient): KubeClient {
  return {
    ...real,
    create: (resource, draft, options) =>
      resource === CONFIG_MAPS
        ? real.create(resource, { ...draft, data: { key: "-----BEGIN PRIVATE KEY-----" } }, options)
        : real.create(resource, draft, options),
  } as KubeClient;
}

export const TLS_MUTANTS: readonly Mutant[] = [
  ...LEFT_OUT,
  ...UNGUARDED,
  {
    name: "members serve clients over TLS alone from their turn on + without guard tls-stepwise",
    promise: "clients have a way",
    edits: [oneWay, credulousRestart, unguarded("cluster", "tls-stepwise")],
    leaning: SWITCHED,
  },
  {
    name: "the next authority signs before everybody trusts it + without guard trusted-first",
    promise: "trusted first",
    edits: [switches, signs, unguarded("cluster", "trusted-first")],
    leaning: ROTATED,
  },
  {
    name: "the authority before is dropped before everybody has what is signed anew + without guard trusted-first",
    promise: "members believe",
    edits: [drops, unguarded("cluster", "trusted-first")],
    leaning: ROTATED,
  },
  {
    name: "what is in a Secret is taken for what every pod has + without guard trusted-first",
    promise: "members believe",
    edits: [seeing("rotate-authority", longBrought), unguarded("cluster", "trusted-first")],
    leaning: { ...ROTATED, often: { askForRotation: 2, lateSecrets: 2 } },
  },
  {
    name: "nobody waits until applications have read what is new",
    edits: [seeing("rotate-authority", longKnown), seeing("leaf", longKnown)],
    // The more members restart meanwhile, the more time applications have all the same.
    leaning: { ...ROTATED, replicas: 1 },
  },
  {
    name: "applications are given what the next authority has signed before members trust it",
    promise: "applications are served",
    unasked: ["members believe", "trusted first"],
    edits: [switches, signs, unguarded("cluster", "trusted-first")],
    leaning: ROTATED,
  },
  {
    name: "a rotation writes over the key of the authority that signs",
    promise: "authorities stay",
    unasked: ["members believe", "trusted first", "applications are served"],
    parts: { kube: overwriting },
    leaning: ROTATED,
  },
  {
    name: "whom to trust is told together with a key",
    parts: { kube: talkative },
    leaning: BORN,
  },
  {
    name: "what members show is never made anew",
    edits: [replaced("leaf", (real, snapshot) => (snapshot.peers.length === 0 ? real.decide(snapshot) : undefined))],
    leaning: { ...FORMED, tls: TLS, often: { longAbsence: 2 }, steps: 60 },
  },
];
