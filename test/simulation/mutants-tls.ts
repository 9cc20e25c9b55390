import { CLIENT_SIGNER_ANNOTATION, KEY_FILE, PEER_SIGNER_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { Phase } from "#cluster-tls/change/ca-rotation.ts";
import { AUTHORITY_OF, leavesOf, purposesOf, SIDES } from "#cluster-tls/read/purposes.ts";
import type { KubeClient } from "#kube/client.ts";
import { CONFIG_MAPS, type Draft, type Pod, SECRETS, type Secret } from "#kube/kinds.ts";
import { step } from "#runtime/decide.ts";
import { FORMED, FORMING, SWITCHED } from "./leanings.ts";
import { doing, leftOut, leftUnguarded, type Mutant, replaced, seeing, unguarded } from "./mutant.ts";
import { credulousRestart } from "./mutants-cluster.ts";
import type { Leaning } from "./profile.ts";

// Mutants of the certificate rules.

const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const TLS = { peer: LIFE, client: LIFE };
const BORN: Leaning = { ...FORMING, tls: TLS };
/** People ask for CA rotations and do not take them back. */
const ROTATED: Leaning = { ...FORMED, tls: TLS, often: { askForRotation: 2 }, isTidied: false, steps: 60 };
const SPOILT: Leaning = { ...FORMED, tls: TLS, often: { spoilSecret: 2, time: 30 }, steps: 100 };
const DELETED: Leaning = { ...FORMED, tls: TLS, often: { deleteSecret: 2 }, steps: 60 };

const LEFT_OUT = leftOut("cluster", [
  { name: "certificate-expires", leaning: BORN, covered: "it only sends an event" },
  {
    name: "renew-in-pause",
    leaning: BORN,
    covered: "no pause of a history lasts for hours; see the stories of expired certificates in stories/paused.ts",
  },
  { name: "ca-rotation-blocked", leaning: BORN, covered: "it only sends an event" },
  { name: "secret-access-missing", leaning: BORN, covered: "it only sends an event" },
  { name: "issue-ca", leaning: BORN },
  {
    name: "certificate-request",
    leaning: BORN,
    covered: "this world has no cert-manager; see the mutants of TLS changes",
  },
  { name: "issue-certificate", leaning: BORN },
  {
    name: "publish-client-secret",
    leaning: BORN,
    covered: "this world has no cert-manager; see the mutants of TLS changes",
  },
  { name: "trust-map", leaning: BORN },
  {
    name: "await-certificates",
    leaning: BORN,
    covered:
      "guard tls-stays lets no member be created without certificates; the rule only adds the message, src/cluster-tls/plan.test.ts",
  },
  { name: "rotate-ca", leaning: ROTATED },
]);

const UNGUARDED = leftUnguarded("cluster", [
  {
    name: "tls-stepwise",
    leaning: BORN,
    covered:
      "TLS is not switched on or off in these histories; src/cluster-tls/change/scheme-guards.test.ts, src/cluster/forbidden.test.ts",
  },
  {
    name: "allowed-secrets",
    leaning: BORN,
    covered: "this world has no Secrets that people provide; see the mutants of TLS changes",
  },
  {
    name: "trusted-first",
    leaning: ROTATED,
    covered: "the rules wait by themselves; see the pairs",
    promise: "trusted first",
  },
  {
    name: "certificate-is-trusted",
    leaning: ROTATED,
    covered: "no cluster changes its provider in this world; see the mutants of TLS changes",
  },
  {
    name: "trust-kept",
    leaning: ROTATED,
    covered: "no cluster changes its provider in this world; see the mutants of TLS changes",
  },
  { name: "members-trust-each-other", leaning: SPOILT },
  {
    name: "authority-kept",
    leaning: DELETED,
    covered:
      "a create conflicts with an existing Secret, and the rule checks first; src/cluster-tls/change/trust-guards.test.ts",
  },
]);

/** Rotates the CA without waiting. */
function hasty(phase: Phase, is: (live: SeenCertificate) => boolean) {
  return replaced("rotate-ca", (real, snapshot) => {
    for (const side of SIDES) {
      const found = snapshot.certificates?.[AUTHORITY_OF[side]];
      if (found?.is !== "present" || found.value.trouble !== undefined || !is(found.value)) continue;
      return step("there is no time", { do: "rotateAuthority", side, phase, facts: found.value });
    }
    return real.decide(snapshot);
  });
}

const switches = hasty("switch", ({ nextId }) => nextId !== undefined);
const drops = hasty("drop", ({ nextId, trustIds }) => nextId === undefined && trustIds.length > 1);

/** Issues every certificate of the new CA at once. */
const signs = replaced("issue-certificate", (real, snapshot) => {
  for (const side of SIDES) {
    const authority = snapshot.certificates?.[AUTHORITY_OF[side]];
    if (authority?.is !== "present" || authority.value.trouble !== undefined) continue;
    for (const purpose of leavesOf(snapshot.cluster, side)) {
      const found = snapshot.certificates?.[purpose];
      if (found?.is !== "present" || found.value.signerId === authority.value.fingerprint) continue;
      const made = { do: "issueLeaf", purpose, authority: authority.value, facts: found.value } as const;
      return step("there is no time", made);
    }
  }
  return real.decide(snapshot);
});

/** Takes every Secret's content for long known. */
function longKnown(snapshot: ClusterSnapshot): ClusterSnapshot {
  const certificates: Record<string, unknown> = { ...snapshot.certificates };
  for (const purpose of purposesOf(snapshot.cluster)) {
    const found = snapshot.certificates?.[purpose];
    if (found?.is === "present")
      certificates[purpose] = present({ ...found.value, knownForMs: Number.POSITIVE_INFINITY });
  }
  return { ...snapshot, certificates };
}

/** Takes every Secret's content for delivered to all pods. */
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
  // Removes the age of pods, too.
  const { podsForMs: _, ...certificates } = snapshot.certificates ?? {};
  return { ...snapshot, certificates, peers, pods: new Map(pods) };
}

/** Replaces the key of the CA by a key that was not announced. */
function overwriting(real: KubeClient): KubeClient {
  return {
    ...real,
    replace: (resource, draft, options) => {
      const { data, metadata } = draft as Draft<Secret>;
      if (resource !== SECRETS || !metadata.name.endsWith("-ca")) return real.replace(resource, draft, options);
      return real.replace(resource, { ...draft, data: { ...data, [KEY_FILE]: btoa("another key") } }, options);
    },
  } as KubeClient;
}

/** Members switch to TLS for clients at once, without a period of both schemes. */
const oneWay = doing("update-member", (step) => {
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
    name: "members switch to TLS without a period of both schemes + without guard tls-stepwise",
    promise: "clients have a scheme",
    edits: [oneWay, credulousRestart, unguarded("cluster", "tls-stepwise")],
    leaning: SWITCHED,
  },
  {
    name: "the next CA signs before every member trusts it + without guard trusted-first",
    promise: "trusted first",
    edits: [switches, signs, unguarded("cluster", "trusted-first")],
    leaning: ROTATED,
  },
  {
    name: "the previous CA is dropped before all certificates are reissued + without guard trusted-first",
    promise: "members trust each other",
    edits: [drops, unguarded("cluster", "trusted-first")],
    leaning: ROTATED,
  },
  {
    name: "a Secret's content counts as delivered to every pod at once + without guard trusted-first",
    promise: "members trust each other",
    edits: [seeing("rotate-ca", longBrought), unguarded("cluster", "trusted-first")],
    leaning: { ...ROTATED, often: { askForRotation: 2, lateSecrets: 2 } },
  },
  {
    name: "a rotation does not wait until applications have read their Secret",
    edits: [seeing("rotate-ca", longKnown), seeing("issue-certificate", longKnown)],
    // With more members, their restarts would give applications enough time.
    leaning: { ...ROTATED, replicas: 1 },
  },
  {
    name: "applications get a certificate of the next CA before members trust it",
    promise: "applications are served",
    unasked: ["members trust each other", "trusted first"],
    edits: [switches, signs, unguarded("cluster", "trusted-first")],
    leaning: ROTATED,
  },
  {
    name: "a rotation overwrites the key of the signing CA",
    promise: "CA keys stay",
    unasked: ["members trust each other", "trusted first", "applications are served"],
    parts: { kube: overwriting },
    leaning: ROTATED,
  },
  {
    name: "the CA bundle is published together with a private key",
    parts: { kube: talkative },
    leaning: BORN,
  },
  {
    name: "certificates of members are never renewed",
    edits: [
      replaced("issue-certificate", (real, snapshot) =>
        snapshot.peers.length === 0 ? real.decide(snapshot) : undefined,
      ),
    ],
    leaning: { ...FORMED, tls: TLS, often: { longAbsence: 2 }, steps: 60 },
  },
];
