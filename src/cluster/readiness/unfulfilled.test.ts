import { expect, test } from "vitest";
import type { Reason } from "#api/conditions.ts";
import { present, unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { wantedTemplate } from "#cluster/update/wanted-template.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { guarded, LOCKED, PREPARED } from "#kit/snapshots/cluster-auth.ts";
import { NEWER, ON_DELETE, wanting, withTurn, saying as withWords } from "#kit/snapshots/cluster-rolling.ts";
import { goingTo, made, NEXT, secured, THEIRS, withMade, withSeen } from "#kit/snapshots/cluster-tls.ts";
import { clientsTrusting, ofBoth, seenToo, telling } from "#kit/snapshots/provider-change.ts";

// Requests of the spec that are not fulfilled while no step is left.

const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
  },
};
const theirs = { by: THEIRS, isOurs: false };
/** No Certificate of cert-manager is requested. */
const turnedTo = (tls: object, spec: object = {}) =>
  begin(secured({ spec }))
    .apply(goingTo, tls)
    .apply(seenToo, { requests: undefined } as object).snapshot;
const bringing = turnedTo(BROUGHT);
const toTheirPeer = turnedTo({ peer: BROUGHT.peer });
const toTheirClient = turnedTo({ client: BROUGHT.client });
/** All bundles for clients have just got the new CA. */
const saying = telling(clientsTrusting, ofBoth, 1_000);
const own = { ...saying, cluster: { ...saying.cluster, spec: secured().cluster.spec } };
const justTold = (purpose: "application" | "operator") =>
  present(made(own, purpose, { trust: ofBoth, knownForMs: 1_000 }));
const hearing = seenToo(saying, {
  requests: undefined,
  previous: { ...saying.certificates?.previous, application: justTold("application"), operator: justTold("operator") },
} as object);
const NO_WORD = unknown("etcd did not answer within 2 s");
const NO_RIGHT = 'get secrets: User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';

/** The message about a missing user-provided Secret. */
const missingOf = (name: string, what: string) =>
  `Secret foo/${name}, ${what}, is missing; create it, with tls.crt, tls.key and ca.crt`;

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
  readonly notices?: readonly string[];
  /** Whether the message ends with these words. */
  readonly isAll?: boolean;
}[] = [
  {
    name: "all user-provided Secrets are missing",
    given: bringing,
    ready: ["False", "CertificateMissing", missingOf("their-server", "the server certificate of members")],
    progressing: ["False", "CertificateMissing", missingOf("their-operator", "the client certificate of the operator")],
    notices: ["await-certificates"],
  },
  {
    name: "the operator may not read a user-provided Secret",
    given: withSeen(toTheirPeer, { peer: unknown(NO_RIGHT) }),
    ready: ["False", "RightMissing", "TLS (peer) waits: the operator may not get secrets in namespace foo"],
    progressing: ["False", "RightMissing", "TLS (peer) waits: the operator may not get secrets in namespace foo"],
    notices: ["await-certificates"],
  },
  {
    name: "members would reject the user-provided certificate of the operator",
    given: withMade(toTheirClient, { server: theirs, operator: { ...theirs, by: NEXT } }),
    ready: [
      "False",
      "CertificatesChanging",
      "TLS (client) waits: Secret their-operator: the CA that signed its tls.crt",
    ],
    progressing: ["False", "CertificatesChanging", "so members would reject the operator"],
    notices: ["await-certificates"],
  },
  {
    name: "a user-provided Secret could not be read",
    given: withSeen(toTheirPeer, { peer: unknown("HTTP 500") }),
    ready: ["False", "CertificatesChanging", "Secret foo/their-peer could not be read: HTTP 500"],
    progressing: ["True", "Waiting", "Secret foo/their-peer could not be read: HTTP 500"],
  },
  {
    name: "clients have yet to trust the new CA",
    given: hearing,
    ready: ["False", "CertificatesChanging", "has to list the new CA in ca.crt for 150 s"],
    progressing: ["True", "Waiting", "has to list the new CA in ca.crt for 150 s"],
    isAll: true,
  },
  {
    name: "etcd does not answer whether authentication is on",
    given: guarded({ state: NO_WORD }),
    ready: ["False", "AuthUnknown", "spec.auth.enabled: true is not carried out yet: etcd did not answer within 2 s"],
    progressing: ["True", "Waiting", "spec.auth.enabled: true is not carried out yet"],
  },
  {
    name: "etcd does not answer, and requested authentication was off at its last answer",
    given: guarded({ state: NO_WORD, recorded: false }),
    ready: ["False", "AuthUnknown", "spec.auth.enabled: true is not carried out yet"],
    progressing: ["True", "Waiting", "etcd did not answer within 2 s"],
  },
  {
    name: "etcd does not answer, and unwanted authentication was on at its last answer",
    given: guarded({ wanted: false, state: NO_WORD, recorded: true }),
    ready: ["False", "AuthUnknown", "spec.auth.enabled: false is not carried out yet"],
    progressing: ["True", "Waiting", "etcd did not answer within 2 s"],
  },
  {
    name: "the operator may not read the Secret of root, so authentication cannot be enabled",
    given: rootUnread(guarded({ state: { ...PREPARED, isRootsPassword: false } })),
    ready: ["False", "RightMissing", "the operator may not get secrets in namespace foo"],
    progressing: ["True", "Waiting", "the operator may not get secrets in namespace foo"],
  },
];

function rootUnread(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { auth } = snapshot;
  return auth === undefined ? snapshot : { ...snapshot, auth: { ...auth, rootSecret: unknown(NO_RIGHT) } };
}

test.each(cases)(
  "Ready is False, although no step is left, when $name",
  ({ given, ready, progressing, notices, isAll }) => {
    const plan = planCluster(given);
    expect([plan.next, plan.reports?.map(({ rule }) => rule)]).toEqual(["settled", notices]);
    for (const [type, [status, reason, words]] of [
      ["Ready", ready],
      ["Progressing", progressing],
    ] as const)
      expect(says(given, type)).toEqual([
        status,
        reason,
        isAll ? expect.stringMatching(new RegExp(`${words}$`)) : expect.stringContaining(words),
      ]);
  },
);

test("Progressing reports the next step before what is not carried out yet", () => {
  const given = withoutBudget(guarded({ state: NO_WORD }));
  expect(planCluster(given).next).toBe("step");
  expect(says(given, "Progressing")[2]).toMatch(/^disruption-budget: /);
});

function withoutBudget(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, budget: undefined };
}

test("with strategy OnDelete, Ready is False until members have restarted to trust the new CA", () => {
  const given = withMade(turnedTo({ peer: BROUGHT.peer }, ON_DELETE), { peer: theirs });
  const inTurn = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
    (turned, name) => withTurn(turned, name, wantedTemplate(given)),
    given,
  );
  for (const words of ["tls.peer: members restart to trust the new CA", "when their pods are deleted"])
    expect(says(inTurn, "Ready")).toEqual(["False", "CertificatesChanging", expect.stringContaining(words)]);
});

const people = wanting(NEWER, { spec: ON_DELETE });
const partly = withWords(withTurn(people, "my-etcd-2"), "my-etcd-1", { raftAppliedIndex: -2_000 });

test("with strategy OnDelete, Ready is False until all EtcdPeers have the new template", () => {
  const one = withTurn(partly, "my-etcd-0");
  const all = begin(people)
    .apply(withTurn, "my-etcd-2")
    .apply(withTurn, "my-etcd-1")
    .apply(withTurn, "my-etcd-0").snapshot;
  expect(says(partly, "Ready")).toEqual(["False", "Waiting", "my-etcd-0, my-etcd-1 have yet to get the new template"]);
  // An earlier Ready for this generation, as before a CA rotation, counts only during a pause.
  const { cluster } = partly;
  const observedGeneration = cluster.metadata.generation ?? 0;
  const told = { type: "Ready", status: "True", reason: "AllMembersHealthy", message: "", observedGeneration, lastTransitionTime: "" } as const; // biome-ignore format: one thing
  const before = { ...partly, cluster: { ...cluster, status: { ...cluster.status, conditions: [told] } } };
  expect(says(before, "Ready").slice(0, 2)).toEqual(["False", "Waiting"]);
  expect(says(one, "Ready")[2]).toBe("my-etcd-1 has yet to get the new template");
  expect(says(partly, "Progressing")).toEqual([
    "True",
    "Waiting",
    "update-member: the update of my-etcd-1 waits until my-etcd-1 has caught up with the others",
  ]);
  expect(says(all, "Ready").slice(0, 2)).toEqual(["True", "AllMembersHealthy"]);
});

const carriedOut: { readonly name: string; readonly given: ClusterSnapshot }[] = [
  { name: "authentication is on as requested", given: guarded({ state: LOCKED }) },
  {
    name: "etcd does not answer, and requested authentication was on at its last answer",
    given: guarded({ state: NO_WORD, recorded: true }),
  },
  {
    name: "etcd does not answer, and unwanted authentication was off at its last answer",
    given: guarded({ wanted: false, state: NO_WORD, recorded: false }),
  },
  {
    name: "etcd does not answer, and spec.auth.enabled is unset",
    given: guarded({ wanted: undefined, state: NO_WORD, recorded: true }),
  },
  { name: "a certificate in use cannot be read", given: withSeen(secured(), { peer: unknown("HTTP 500") }) },
  { name: "certificates have not been observed yet", given: { ...secured(), certificates: undefined } },
];

test.each(carriedOut)("Ready stays True when $name", ({ given }) => {
  expect(says(given, "Ready").slice(0, 2)).toEqual(["True", "AllMembersHealthy"]);
});
