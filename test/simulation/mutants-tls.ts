import { KEY_FILE } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { AUTHORITY_OF, leavesOf, purposesOf, SIDES } from "#cluster/certificates/purposes.ts";
import type { Phase } from "#cluster/certificates/rotation.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { CONFIG_MAPS, type Draft, SECRETS, type Secret } from "#kube/kinds.ts";
import { step } from "#runtime/decide.ts";
import { FORMED, FORMING } from "./leanings.ts";
import { leftOut, leftUnguarded, type Mutant, replaced, seeing, unguarded } from "./mutant.ts";
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
  { name: "authority", leaning: BORN },
  {
    name: "certificate-request",
    leaning: BORN,
    covered: "nobody has cert-manager in this world; src/cluster/rules/certificates/plan.test.ts",
  },
  { name: "leaf", leaning: BORN },
  {
    name: "hand-out",
    leaning: BORN,
    covered: "nobody has cert-manager in this world; src/cluster/rules/certificates/plan.test.ts",
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
      "nobody switches TLS on or off in this world; src/cluster/guards/tls-switch.test.ts, src/cluster/forbidden.test.ts",
  },
  {
    name: "allowed-secrets",
    leaning: BORN,
    covered: "nobody names a Secret of their own in this world; src/cluster/guards/shown.test.ts",
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
    covered: "nobody changes a provider in this world; src/cluster/guards/shown.test.ts",
  },
  {
    name: "trust-kept",
    leaning: ROTATED,
    covered: "nobody changes a provider in this world; src/cluster/guards/trust.test.ts",
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
    name: "the next authority signs before everybody trusts it + without guard trusted-first",
    promise: "trusted first",
    edits: [switches, signs, unguarded("cluster", "trusted-first")],
    leaning: ROTATED,
  },
  {
    name: "the authority before is dropped before everybody has what is signed anew",
    edits: [drops],
    leaning: ROTATED,
  },
  {
    name: "nobody waits until the kubelet has brought what is new",
    edits: [seeing("rotate-authority", longKnown), seeing("leaf", longKnown)],
    leaning: { ...ROTATED, replicas: 5 },
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
