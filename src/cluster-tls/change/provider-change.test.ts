import { describe, expect, test } from "vitest";
import { authReady } from "#cluster/auth/auth-ready.ts";
import { planCluster } from "#cluster/plan.ts";
import { tlsReady } from "#cluster-tls/check/tls-ready.ts";
import { guarded } from "#kit/snapshots/cluster-auth.ts";
import { bundle, NEXT, OWN, secured, THEIRS } from "#kit/snapshots/cluster-tls.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";
import { ChangeRun } from "#kit/sweeps/tls-change.ts";
import { providerChanges } from "./provider-change.ts";

// Whole provider changes, not a table of cases: each takes long, so mutation tests leave them out.

// Whole clusters: after each step all members, clients and the operator still trust each other, also with Secrets that
// they read some time ago. The test kit throws where they do not. Templates at each point: member-tls.test.ts.

const SECRET = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
  },
};
const issuer = (name: string) => ({ provider: "CertManager", certManager: { issuerRef: { name } } });
const MANAGER = { peer: issuer("a"), client: issuer("a") };
const OTHER = { peer: issuer("other"), client: issuer("other") };
const BROUGHT = ["peer", "server", "operator"] as const;
/** Rounds of restarts: trust both, use the new certificate, drop the previous CA. */
const THREE_EACH = 9;
/** Where applications are waited for, the rounds happen twice: for the peer side and the client side. */
const FOUR_EACH = 12;

const OWN_NAMES = { peer: "my-etcd-peer-tls", client: "my-etcd-server-tls", operator: "my-etcd-operator-tls" };
const BROUGHT_BY_ANOTHER = {
  peer: { provider: "Secret", secret: { name: "third-peer" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "third-server" }, operator: { name: "third-operator" } },
  },
};
const THIRD_NAMES = { peer: "third-peer", client: "third-server", operator: "third-operator" };
const THEIR_NAMES = { peer: "their-peer", client: "their-server", operator: "their-operator" };
const issuedNames = (digits: string) =>
  Object.fromEntries(Object.entries(OWN_NAMES).map(([side, name]) => [side, `${name}-${digits}`]));
const ALONE = { trusted: [1, 1] };

function told({ snapshot }: ChangeRun): string {
  const verdict = tlsReady({ snapshot, plan: planCluster(snapshot) });
  return `${verdict?.reason}: ${verdict?.message}`;
}

/** A cluster with the requested certificates, recorded in its status. */
function settled(snapshot = secured()): ChangeRun {
  const change = new ChangeRun(snapshot);
  expect(change.run()).toEqual([]);
  return change;
}

/** A cluster with provider Operator that changes to provider Secret. */
function leaving(): ChangeRun {
  const change = settled();
  change.ask(SECRET);
  change.bring(BROUGHT);
  return change;
}

/** The recorded sources of peer and client certificates. */
function sources({ snapshot }: ChangeRun) {
  const { peer, client } = snapshot.cluster.status?.tls ?? {};
  return [peer?.issuedBy, client?.issuedBy];
}

test("a cluster with its requested certificates stays unchanged and records its issuers", () => {
  const change = settled();
  expect(sources(change)).toEqual([{ provider: "Operator" }, { provider: "Operator" }]);
});

test("a cluster changes from provider Operator to Secret, to CertManager, to another issuer, and back", () => {
  const change = leaving();
  expect(change.run().splice(0)).toEqual([
    "spreadTrust operator",
    "spreadTrust application",
    "replaceTrustMap",
    "roll",
  ]);
  // The Secret that the operator published to applications works until a user deletes it.
  expect(change.shown).toEqual({ ...THEIR_NAMES, trusted: [1, 2] });
  expect(told(change)).toContain("CertificatesChanging: tls.client: members use the requested certificates");
  expect(told(change)).toContain(
    "the certificate in Secret my-etcd-client is signed by the previous CA; delete it once",
  );
  change.remove("my-etcd-client");
  change.run();
  expect(change.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
  expect(told(change)).toContain("CertificatesValid: 3 certificates");
  expect(change.restarts).toBe(FOUR_EACH);

  change.ask(MANAGER);
  expect(change.run()).toContain("publishClientSecret");
  expect(change.shown).toEqual({ ...issuedNames("a3b319c8"), ...ALONE });
  expect(told(change)).toContain("CertificatesValid: 4 certificates");
  expect(change.restarts).toBe(FOUR_EACH + THREE_EACH);

  change.ask(OTHER);
  change.run();
  expect(change.shown).toEqual({ ...issuedNames("f9fcb5ce"), ...ALONE });
  expect(change.secrets.get("my-etcd-client")?.signerId).toBe(THEIRS.id);
  expect(change.restarts).toBe(FOUR_EACH + 2 * THREE_EACH);

  change.ask({});
  change.run();
  expect(change.shown).toEqual({ ...OWN_NAMES, ...ALONE });
  expect(change.secrets.get("my-etcd-client")).toMatchObject({ signerId: OWN.id, trustIds: [OWN.id] });
  expect(change.restarts).toBe(FOUR_EACH + 3 * THREE_EACH);
});

test("a cluster changes the provider of one side alone", () => {
  const change = settled();
  change.ask({ peer: SECRET.peer });
  change.bring(["peer"]);
  change.run();
  expect(change.shown).toEqual({ ...OWN_NAMES, peer: "their-peer", ...ALONE });
  expect(sources(change)).toMatchObject([SECRET.peer, { provider: "Operator" }]);
  change.ask({ peer: SECRET.peer, client: issuer("a") });
  change.run();
  expect(change.shown).toEqual({ ...issuedNames("a3b319c8"), peer: "their-peer", ...ALONE });
});

test("a change does not wait for client certificates that members do not require", () => {
  const open = { client: { ...SECRET.client, clientCertificates: "NotRequired" } };
  const change = settled(secured({}, { client: { clientCertificates: "NotRequired" } }));
  change.ask(open);
  change.bring(["server", "operator"]);
  change.run();
  expect(change.shown).toMatchObject({ client: "their-server", operator: "their-operator", trusted: [1, 1] });
});

test("another Secret for the operator alone restarts no member", () => {
  const brought = secured({}, SECRET, { isOurs: false, by: THEIRS });
  const change = settled(brought);
  const secret = { server: { name: "their-server" }, operator: { name: "another" } };
  change.ask({ ...SECRET, client: { provider: "Secret", secret } });
  change.run();
  expect(change.shown).toMatchObject({ operator: "their-operator" });
  change.bring(["operator"], { by: NEXT });
  change.run();
  expect(change.shown).toMatchObject({ operator: "their-operator" });
  change.bring(["operator"]);
  change.run();
  expect(change.shown).toMatchObject({ client: "their-server", operator: "another" });
  expect(change.restarts).toBe(0);
});

test("an operator that restarts after each step completes the change without extra restarts of members", () => {
  const change = leaving();
  change.run((each) => each.restart());
  change.remove("my-etcd-client");
  change.run((each) => each.restart());
  expect(change.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
  expect(change.restarts).toBe(FOUR_EACH);
});

describe("a change that is reverted midway returns to the operator's certificates", () => {
  test.each([1, 12, 25, 33, 40])("after %i steps", (steps) => {
    const change = leaving();
    for (let n = 0; n < steps; n++) change.step();
    change.ask({});
    change.run();
    expect(change.shown).toEqual({ ...OWN_NAMES, ...ALONE });
    expect(told(change)).toContain("CertificatesValid");
  });
});

describe("a third source that is requested during the change to the second is reached", () => {
  test.each([1, 12, 16, 17, 18, 20, 22, 24, 28, 33, 40])(
    "after %i steps, although its certificates exist later",
    (steps) => {
      const change = leaving();
      for (let n = 0; n < steps; n++) change.step();
      change.ask(BROUGHT_BY_ANOTHER);
      change.run();
      change.bring(BROUGHT, { by: NEXT });
      change.run();
      change.remove("my-etcd-client");
      change.run();
      expect(change.shown).toEqual({ ...THIRD_NAMES, ...ALONE });
    },
  );
});

describe("a third source is reached when the first Secrets are lost during the change to the second", () => {
  test.each([1, 2])("after %i restarts on the way to the second", (turns) => {
    const change = leaving();
    while (
      stageOf(providerChanges(change.snapshot).client) !== "UseNew" ||
      stageOf(providerChanges(change.snapshot).peer) !== "UseNew"
    )
      change.step();
    const { restarts } = change;
    while (change.restarts < restarts + turns) change.step();
    for (const name of ["my-etcd-peer-tls", "my-etcd-peer-ca", "my-etcd-server-tls", "my-etcd-client-ca"])
      change.lose(name);
    change.ask(BROUGHT_BY_ANOTHER);
    change.run();
    expect(change.shown).toMatchObject({ peer: THEIR_NAMES.peer, client: THEIR_NAMES.client });
    change.bring(BROUGHT, { by: NEXT });
    change.run();
    change.remove("my-etcd-client");
    change.run();
    expect(change.shown).toEqual({ ...THIRD_NAMES, ...ALONE });
  });
});

describe("a change continues when a Secret in use is lost and not recreated:", () => {
  test.each([0, 1, 3, 12, 25])("the CA of clients, after %i steps", (steps) => {
    const change = leaving();
    for (let n = 0; n < steps; n++) change.step();
    change.lose("my-etcd-client-ca");
    expect(told(change)).toContain("Secret foo/my-etcd-client-ca, the CA of server and client certificates");
    change.run();
    change.remove("my-etcd-client");
    change.run();
    expect(change.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
  });

  test.each([
    { name: "the peer certificate and its CA", lost: ["my-etcd-peer-tls", "my-etcd-peer-ca"] },
    { name: "the server certificate and its CA", lost: ["my-etcd-server-tls", "my-etcd-client-ca"] },
  ])("$name, once all members trust both sources", ({ lost }) => {
    const change = leaving();
    while (
      stageOf(providerChanges(change.snapshot).client) !== "UseNew" ||
      stageOf(providerChanges(change.snapshot).peer) !== "UseNew"
    )
      change.step();
    change.step();
    for (const name of lost) change.lose(name);
    expect(told(change)).toContain("members keep using it until they use the requested one");
    change.run();
    change.remove("my-etcd-client");
    change.run();
    expect(change.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
  });
});

const lacking: { name: string; bring: (change: ChangeRun) => void; says: string }[] = [
  {
    name: "is missing",
    bring: () => undefined,
    says: "Secret foo/their-server, the server certificate of members, is missing",
  },
  {
    name: "has no key",
    bring: (change) => change.bring(["server"], { trouble: "it has no tls.key" }),
    says: "it has no tls.key",
  },
  {
    name: "is not valid for the members",
    bring: (change) => change.bring(["server"], { names: ["localhost"] }),
    says: "its tls.crt is not valid for my-etcd-0",
  },
  { name: "has expired", bring: (change) => change.bring(["server"], { lastsMs: -1 }), says: "has expired" },
];

describe("nothing changes while the requested certificate", () => {
  test.each(lacking)("$name", ({ bring, says }) => {
    const change = settled();
    change.ask({ client: SECRET.client });
    change.bring(["operator"]);
    bring(change);
    change.run();
    expect(change.restarts).toBe(0);
    expect(change.shown).toEqual({ ...OWN_NAMES, ...ALONE });
    expect(told(change)).toContain(says);
  });

  const strangers: { name: string; server: object; operator: object; says: string }[] = [
    {
      name: "would make members reject the operator",
      server: {},
      operator: { by: NEXT, trust: bundle(NEXT, THEIRS) },
      says: "so members would reject the operator",
    },
    {
      name: "would be rejected by the operator",
      server: { trust: bundle(THEIRS, NEXT) },
      operator: { by: NEXT },
      says: "so the operator would reject members",
    },
  ];
  test.each(strangers)("$name", ({ server, operator, says }) => {
    const change = settled();
    change.ask({ client: SECRET.client });
    change.bring(["server"], server);
    change.bring(["operator"], operator);
    change.run();
    expect(change.restarts).toBe(0);
    expect(providerChanges(change.snapshot).client).toMatchObject({ round: "Prepare" });
    expect(told(change)).toContain(says);
  });
});

test("the certificate in use is renewed while the requested one is missing", () => {
  const change = settled(secured({}, {}, { lastsMs: 3_550 * 86_400_000 }));
  for (const name of [...Object.values(OWN_NAMES), "my-etcd-client"]) {
    const facts = change.secrets.get(name)!;
    change.secrets.set(name, { ...facts, notAfterMs: change.snapshot.takenAtMs + 86_400_000 });
  }
  change.ask(SECRET);
  expect([...change.run()].sort()).toEqual(
    ["issueLeaf application", "issueLeaf operator", "issueLeaf peer", "issueLeaf server"].sort(),
  );
});

describe("while etcd has authentication enabled", () => {
  const asking = (users: Record<string, string[]>) => {
    const change = new ChangeRun(guarded({ recorded: true }), {
      "etcd-cluster-operator": ["root"],
      root: ["root"],
      ...users,
    });
    expect(change.run()).toEqual([]);
    return change;
  };
  const tellsOfUsers = ({ snapshot }: ChangeRun) => {
    const verdict = authReady({ snapshot, plan: planCluster(snapshot) });
    return `${verdict?.reason}: ${verdict?.message}`;
  };

  test("the operator makes the common name of its next certificate an administrator before it uses that", () => {
    const change = asking({});
    change.ask(SECRET);
    change.bring(BROUGHT, { commonName: "their-operator" });
    expect(change.run()).toEqual(expect.arrayContaining(["addUser", "grantRole"]));
    expect(change.shown).toMatchObject(THEIR_NAMES);
    expect(change.users?.get("their-operator")).toEqual(["root"]);
    expect(change.snapshot.cluster.status?.auth).toEqual({ enabled: true, operators: ["their-operator"] });
    expect(tellsOfUsers(change)).toContain("AuthEnabled: authentication is on; the operator is their-operator");
  });

  test.each([
    ["another user has that name", { "their-operator": ["reader"] }, "their-operator", "OperatorUserTaken"],
    ["its common name is empty", {}, "", "OperatorUserInvalid"],
    ["its common name is root", {}, "root", "OperatorUserInvalid"],
  ])("the operator does not use a certificate when %s, and reports it", (_, users, commonName, reason) => {
    const change = asking(users);
    change.ask(SECRET);
    change.bring(BROUGHT, { commonName });
    change.run();
    expect(change.shown).toMatchObject({ client: OWN_NAMES.client, operator: OWN_NAMES.operator });
    expect(told(change)).toContain("Secret their-operator, with which the operator is to log in, has");
    expect(tellsOfUsers(change)).toContain(`${reason}: the certificate in Secret their-operator has`);
    expect(change.users?.get("their-operator")).toEqual((users as Record<string, string[]>)["their-operator"]);
  });

  test("the operator uses a certificate with the name of an administrator at once", () => {
    for (const [users, commonName] of [
      [{}, "etcd-cluster-operator"],
      [{ ops: ["root"] }, "ops"],
    ] as const) {
      const change = asking(users as never);
      change.ask(SECRET);
      change.bring(BROUGHT, { commonName });
      expect(change.run()).not.toContain("addUser");
      expect(change.shown).toMatchObject(THEIR_NAMES);
    }
  });
});
