import { expect, test } from "vitest";
import type { Reason } from "#api/conditions.ts";
import { present, unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import { wantedTemplate } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { guarded, LOCKED, PREPARED } from "#kit/cluster-auth.ts";
import { NEWER, ON_DELETE, wanting, withTurn, saying as withWords } from "#kit/cluster-rolling.ts";
import { goingTo, made, NEXT, secured, THEIRS, withMade, withSeen } from "#kit/cluster-tls.ts";
import { clientsTrusting, ofBoth, seenToo, telling } from "#kit/cluster-turn.ts";

// What is asked for, and is not carried out, while no step is left.

const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
  },
};
const theirs = { by: THEIRS, isOurs: false };
/** Nobody asks cert-manager for anything. */
const turnedTo = (tls: object, spec: object = {}) =>
  seenToo(goingTo(secured({ spec }), tls), { requests: undefined } as object);
const bringing = turnedTo(BROUGHT);
const toTheirPeer = turnedTo({ peer: BROUGHT.peer });
const toTheirClient = turnedTo({ client: BROUGHT.client });
/** All that tells clients whom to trust besides has just come to say so. */
const saying = telling(clientsTrusting, ofBoth, 1_000);
const own = { ...saying, cluster: { ...saying.cluster, spec: secured().cluster.spec } };
const justTold = (purpose: "application" | "operator") =>
  present(made(own, purpose, { trust: ofBoth, knownForMs: 1_000 }));
const hearing = seenToo(saying, {
  requests: undefined,
  former: { ...saying.certificates?.former, application: justTold("application"), operator: justTold("operator") },
} as object);
const NO_WORD = unknown("etcd did not answer within 2 s");
const NO_RIGHT = 'get secrets: User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';

/** What Secrets of theirs are not there, as people are told. */
const missingOf = (name: string, what: string) =>
  `Secret foo/${name}, ${what}, is not there; make it, with tls.crt, tls.key and ca.crt`;

type Said = readonly [status: string, reason: Reason, words: string];

function says(given: ClusterSnapshot, type: string): Said {
  const { conditions } = clusterStatus(given, planCluster(given));
  const found = conditions?.find((each) => each.type === type);
  return [found?.status ?? "", found?.reason as Reason, found?.message ?? ""];
}

const cases: {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly ready: Said;
  readonly progressing: Said;
  readonly remarks?: readonly string[];
  /** Whether the message ends with these words. */
  readonly isAll?: boolean;
}[] = [
  {
    name: "people have yet to make all that they bring",
    given: bringing,
    ready: ["False", "CertificateMissing", missingOf("their-server", "what members show to clients")],
    progressing: ["False", "CertificateMissing", missingOf("their-operator", "what the operator shows to members")],
    remarks: ["await-certificates"],
  },
  {
    name: "the operator may not read what they bring",
    given: withSeen(toTheirPeer, { peer: unknown(NO_RIGHT) }),
    ready: ["False", "RightMissing", "TLS (peer) waits: the operator may not get secrets in namespace foo"],
    progressing: ["False", "RightMissing", "TLS (peer) waits: the operator may not get secrets in namespace foo"],
    remarks: ["await-certificates"],
  },
  {
    name: "what they bring does not belong together",
    given: withMade(toTheirClient, { server: theirs, operator: { ...theirs, by: NEXT } }),
    ready: ["False", "CertificatesChanging", "TLS (client) waits: Secret their-operator: its tls.crt is signed by"],
    progressing: ["False", "CertificatesChanging", "and members would not let the operator in"],
    remarks: ["await-certificates"],
  },
  {
    name: "one of them cannot be read for the moment",
    given: withSeen(toTheirPeer, { peer: unknown("HTTP 500") }),
    ready: ["False", "CertificatesChanging", "Secret foo/their-peer could not be read: HTTP 500"],
    progressing: ["True", "Waiting", "Secret foo/their-peer could not be read: HTTP 500"],
  },
  {
    name: "clients come to trust what members are to show",
    given: hearing,
    ready: ["False", "CertificatesChanging", "has to say for 150 s whom clients are to trust besides"],
    progressing: ["True", "Waiting", "has to say for 150 s whom clients are to trust besides"],
    isAll: true,
  },
  {
    name: "etcd cannot be asked whether it asks for users",
    given: guarded({ state: NO_WORD }),
    ready: ["False", "AuthUnknown", "spec.auth.enabled: true is not carried out yet: etcd did not answer within 2 s"],
    progressing: ["True", "Waiting", "spec.auth.enabled: true is not carried out yet"],
  },
  {
    name: "by etcd's last word it asked for nobody",
    given: guarded({ state: NO_WORD, recorded: false }),
    ready: ["False", "AuthUnknown", "spec.auth.enabled: true is not carried out yet"],
    progressing: ["True", "Waiting", "etcd did not answer within 2 s"],
  },
  {
    name: "by etcd's last word it asked for users that are wanted no more",
    given: guarded({ wanted: false, state: NO_WORD, recorded: true }),
    ready: ["False", "AuthUnknown", "spec.auth.enabled: false is not carried out yet"],
    progressing: ["True", "Waiting", "etcd did not answer within 2 s"],
  },
  {
    name: "the Secret of root may not be read, without which users cannot be asked for",
    given: rootUnread(guarded({ state: { ...PREPARED, isRootsPassword: false } })),
    ready: ["False", "RightMissing", "the operator may not get secrets in namespace foo"],
    progressing: ["True", "Waiting", "the operator may not get secrets in namespace foo"],
  },
];

function rootUnread(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { auth } = snapshot;
  return auth === undefined ? snapshot : { ...snapshot, auth: { ...auth, rootSecret: unknown(NO_RIGHT) } };
}

test.each(cases)("nobody is told that it is done: $name", ({ given, ready, progressing, remarks, isAll }) => {
  const plan = planCluster(given);
  expect([plan.next, plan.aside?.map(({ rule }) => rule)]).toEqual(["settled", remarks]);
  for (const [type, [status, reason, words]] of [
    ["Ready", ready],
    ["Progressing", progressing],
  ] as const)
    expect(says(given, type)).toEqual([
      status,
      reason,
      isAll ? expect.stringMatching(new RegExp(`${words}$`)) : expect.stringContaining(words),
    ]);
});

test("while a step is left, Progressing tells that", () => {
  const given = withoutBudget(guarded({ state: NO_WORD }));
  expect(planCluster(given).next).toBe("step");
  expect(says(given, "Progressing")[2]).toMatch(/^disruption-budget: /);
});

function withoutBudget(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, budget: undefined };
}

test("where people restart members they are told whom, as long as what members show is not what is asked for", () => {
  const given = withMade(turnedTo({ peer: BROUGHT.peer }, ON_DELETE), { peer: theirs });
  const inTurn = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
    (turned, name) => withTurn(turned, name, wantedTemplate(given)),
    given,
  );
  for (const words of ["tls.peer: members come to trust what they are to show", "when somebody deletes their pods"])
    expect(says(inTurn, "Ready")).toEqual(["False", "CertificatesChanging", expect.stringContaining(words)]);
});

const people = wanting(NEWER, { spec: ON_DELETE });
const untold = withWords(withTurn(people, "my-etcd-2"), "my-etcd-1", { raftAppliedIndex: -2_000 });

test("where people restart members, it is not done before each of them is to get it; afterwards nobody waits for them", () => {
  const one = withTurn(untold, "my-etcd-0");
  const all = withTurn(withTurn(withTurn(people, "my-etcd-2"), "my-etcd-1"), "my-etcd-0");
  expect(says(untold, "Ready")).toEqual([
    "False",
    "Waiting",
    "my-etcd-0, my-etcd-1 have yet to be given what the spec asks for",
  ]);
  // That it was done once, as when another authority is to be trusted now, counts in a pause alone.
  const { cluster } = untold;
  const observedGeneration = cluster.metadata.generation ?? 0;
  const told = { type: "Ready", status: "True", reason: "AllMembersHealthy", message: "", observedGeneration, lastTransitionTime: "" } as const; // biome-ignore format: one thing
  const before = { ...untold, cluster: { ...cluster, status: { ...cluster.status, conditions: [told] } } };
  expect(says(before, "Ready").slice(0, 2)).toEqual(["False", "Waiting"]);
  expect(says(one, "Ready")[2]).toBe("my-etcd-1 has yet to be given what the spec asks for");
  expect(says(untold, "Progressing")).toEqual([
    "True",
    "Waiting",
    "give-turn: my-etcd-1 has its turn once my-etcd-1 has caught up with the others",
  ]);
  expect(says(all, "Ready").slice(0, 2)).toEqual(["True", "AllMembersHealthy"]);
});

const carriedOut: { readonly name: string; readonly given: ClusterSnapshot }[] = [
  { name: "etcd asks for users, as it is to", given: guarded({ state: LOCKED }) },
  { name: "etcd cannot be asked, and asked for users before", given: guarded({ state: NO_WORD, recorded: true }) },
  {
    name: "etcd cannot be asked, and asked nobody before",
    given: guarded({ wanted: false, state: NO_WORD, recorded: false }),
  },
  {
    name: "nobody says whether it is to ask, and it cannot be asked",
    given: guarded({ wanted: undefined, state: NO_WORD, recorded: true }),
  },
  { name: "what members show cannot be read", given: withSeen(secured(), { peer: unknown("HTTP 500") }) },
  { name: "nobody has looked at it yet", given: { ...secured(), certificates: undefined } },
];

test.each(carriedOut)("what has been carried out stays so: $name", ({ given }) => {
  expect(says(given, "Ready").slice(0, 2)).toEqual(["True", "AllMembersHealthy"]);
});
