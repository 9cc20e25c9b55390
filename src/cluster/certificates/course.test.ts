import { describe, expect, test } from "vitest";
import { operatorSecretName } from "#api/tls.ts";
import { courses } from "#cluster/certificates/course.ts";
import { authReady } from "#cluster/conditions/auth-ready.ts";
import { tlsReady } from "#cluster/conditions/tls-ready.ts";
import { planCluster } from "#cluster/plan.ts";
import { guarded } from "#kit/cluster-auth.ts";
import { bundle, made, NEXT, OWN, secured, THEIRS, tlsSpec } from "#kit/cluster-tls.ts";
import { Course } from "#kit/tls-course.ts";

// These are courses and no table of cases: each takes a while, as what is async does, and no mutation is tried with them.

// Courses of whole clusters: after each step everybody still believes whom they talk to, whoever has read a Secret a while ago included (the kit
// throws where not). What members get at each point: member-tls.test.ts.

const SECRET = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
  },
};
const issuer = (name: string) => ({ provider: "CertManager", certManager: { issuerRef: { name } } });
const MANAGER = { peer: issuer("a"), client: issuer("a") };
const OTHER = { peer: issuer("other"), client: issuer("other") };
const BROUGHT = ["peer", "server", "operator"] as const;
/** Each member comes to trust both, shows the new one, and drops the former one. */
const THREE_EACH = 9;
/** Where applications have to be waited for it does so twice, for members and for clients. */
const FOUR_EACH = 12;

const OWN_NAMES = { peer: "my-etcd-peer-tls", client: "my-etcd-server-tls", operator: "my-etcd-operator-tls" };
const BROUGHT_BY_ANOTHER = {
  peer: { provider: "Secret", secret: { secretName: "third-peer" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "third-server", operatorClientSecretName: "third-operator" },
  },
};
const THIRD_NAMES = { peer: "third-peer", client: "third-server", operator: "third-operator" };
const OWN_PAIRS = {
  peer: { provider: "Secret", secret: { secretName: OWN_NAMES.peer } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: OWN_NAMES.client, operatorClientSecretName: OWN_NAMES.operator },
  },
};
const THEIR_NAMES = { peer: "their-peer", client: "their-server", operator: "their-operator" };
const issuedNames = (digits: string) =>
  Object.fromEntries(Object.entries(OWN_NAMES).map(([side, name]) => [side, `${name}-${digits}`]));
const ALONE = { trusted: [1, 1] };

function told({ snapshot }: Course): string {
  const verdict = tlsReady({ snapshot, plan: planCluster(snapshot) });
  return `${verdict?.reason}: ${verdict?.message}`;
}

/** A cluster that has what it asks for, which stands on record. */
function settled(snapshot = secured()): Course {
  const course = new Course(snapshot);
  expect(course.run()).toEqual([]);
  return course;
}

/** A cluster that the operator issues for, on its way to what people bring. */
function leaving(): Course {
  const course = settled();
  course.ask(SECRET);
  course.bring(BROUGHT);
  return course;
}

test("a cluster that has what it asks for stays as it is", () => {
  const course = settled();
  expect(course.snapshot.cluster.status?.issuedBy).toEqual({
    peer: { provider: "Operator" },
    client: { provider: "Operator" },
  });
});

test("from the operator's own to what people bring, to an issuer, to another one, and back", () => {
  const course = leaving();
  expect(course.run().splice(0)).toEqual([
    "spreadTrust operator",
    "spreadTrust application",
    "replaceTrustMap",
    "roll",
  ]);
  // What the operator has given to applications is good until somebody deletes it.
  expect(course.shown).toEqual({ ...THEIR_NAMES, trusted: [1, 2] });
  expect(told(course)).toContain("CertificatesChanging: tls.client: members show what is asked for");
  expect(told(course)).toContain("Secret my-etcd-client is signed by a former authority; delete it once");
  course.remove("my-etcd-client");
  course.run();
  expect(course.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
  expect(told(course)).toContain("CertificatesValid: 3 certificates");
  expect(course.restarts).toBe(FOUR_EACH);

  course.ask(MANAGER);
  expect(course.run()).toContain("handOut");
  expect(course.shown).toEqual({ ...issuedNames("a3b319c8"), ...ALONE });
  expect(told(course)).toContain("CertificatesValid: 4 certificates");
  expect(course.restarts).toBe(FOUR_EACH + THREE_EACH);

  course.ask(OTHER);
  course.run();
  expect(course.shown).toEqual({ ...issuedNames("f9fcb5ce"), ...ALONE });
  expect(course.secrets.get("my-etcd-client")?.signerId).toBe(THEIRS.id);
  expect(course.restarts).toBe(FOUR_EACH + 2 * THREE_EACH);

  course.ask({});
  course.run();
  expect(course.shown).toEqual({ ...OWN_NAMES, ...ALONE });
  expect(course.secrets.get("my-etcd-client")).toMatchObject({ signerId: OWN.id, trustIds: [OWN.id] });
  expect(course.restarts).toBe(FOUR_EACH + 3 * THREE_EACH);
});

test("one side alone", () => {
  const course = settled();
  course.ask({ peer: SECRET.peer });
  course.bring(["peer"]);
  course.run();
  expect(course.shown).toEqual({ ...OWN_NAMES, peer: "their-peer", ...ALONE });
  expect(course.snapshot.cluster.status?.issuedBy).toMatchObject({
    peer: SECRET.peer,
    client: { provider: "Operator" },
  });
  course.ask({ peer: SECRET.peer, client: issuer("a") });
  course.run();
  expect(course.shown).toEqual({ ...issuedNames("a3b319c8"), peer: "their-peer", ...ALONE });
});

test("where clients show nothing, nobody waits for what they would show", () => {
  const open = { client: { ...SECRET.client, verifyClients: false } };
  const course = settled(secured({}, { client: { verifyClients: false } }));
  course.ask(open);
  course.bring(["server", "operator"]);
  course.run();
  expect(course.shown).toMatchObject({ client: "their-server", operator: "their-operator", trusted: [1, 1] });
});

test("another Secret for the operator alone restarts nobody", () => {
  const brought = secured({}, SECRET, { isOurs: false, by: THEIRS });
  const course = settled(brought);
  const secret = { serverSecretName: "their-server", operatorClientSecretName: "another" };
  course.ask({ ...SECRET, client: { provider: "Secret", secret } });
  course.run();
  expect(course.shown).toMatchObject({ operator: "their-operator" });
  course.bring(["operator"], { by: NEXT });
  course.run();
  expect(course.shown).toMatchObject({ operator: "their-operator" });
  course.bring(["operator"]);
  course.run();
  expect(course.shown).toMatchObject({ client: "their-server", operator: "another" });
  expect(course.restarts).toBe(0);
});

test("a process that starts at any time goes on, and nobody goes to and fro", () => {
  const course = leaving();
  course.run((each) => each.restart());
  course.remove("my-etcd-client");
  course.run((each) => each.restart());
  expect(course.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
  expect(course.restarts).toBe(FOUR_EACH);
});

describe("taken back on the way", () => {
  test.each([1, 12, 25, 33, 40])("after %i steps", (steps) => {
    const course = leaving();
    for (let n = 0; n < steps; n++) course.step();
    course.ask({});
    course.run();
    expect(course.shown).toEqual({ ...OWN_NAMES, ...ALONE });
    expect(told(course)).toContain("CertificatesValid");
  });
});

describe("a third origin, asked for half way to the second", () => {
  test.each([1, 12, 16, 17, 18, 20, 22, 24, 28, 33, 40])(
    "after %i steps, whether or not what it is to show is there",
    (steps) => {
      const course = leaving();
      for (let n = 0; n < steps; n++) course.step();
      course.ask(BROUGHT_BY_ANOTHER);
      course.run();
      course.bring(BROUGHT, { by: NEXT });
      course.run();
      course.remove("my-etcd-client");
      course.run();
      expect(course.shown).toEqual({ ...THIRD_NAMES, ...ALONE });
    },
  );
});

describe("a third origin, asked for half way to the second, with what was shown first gone", () => {
  test.each([1, 2])("after %i restarts on the way to the second", (turns) => {
    const course = leaving();
    while (courses(course.snapshot).client.at !== "show" || courses(course.snapshot).peer.at !== "show") course.step();
    const { restarts } = course;
    while (course.restarts < restarts + turns) course.step();
    for (const name of ["my-etcd-peer-tls", "my-etcd-peer-ca", "my-etcd-server-tls", "my-etcd-client-ca"])
      course.lose(name);
    course.ask(BROUGHT_BY_ANOTHER);
    course.run();
    expect(course.shown).toMatchObject({ peer: THEIR_NAMES.peer, client: THEIR_NAMES.client });
    course.bring(BROUGHT, { by: NEXT });
    course.run();
    course.remove("my-etcd-client");
    course.run();
    expect(course.shown).toEqual({ ...THIRD_NAMES, ...ALONE });
  });
});

describe("what is lost on the way, and nobody makes anew", () => {
  test.each([0, 1, 3, 12, 25])(
    "the authority of clients, after %i steps: it goes on, and applications are told without it",
    (steps) => {
      const course = leaving();
      for (let n = 0; n < steps; n++) course.step();
      course.lose("my-etcd-client-ca");
      expect(told(course)).toContain("Secret foo/my-etcd-client-ca, the authority by which members and clients know");
      course.run();
      course.remove("my-etcd-client");
      course.run();
      expect(course.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
    },
  );

  test.each([
    { name: "what members show to each other, with its authority", lost: ["my-etcd-peer-tls", "my-etcd-peer-ca"] },
    { name: "what they show to clients, with its authority", lost: ["my-etcd-server-tls", "my-etcd-client-ca"] },
  ])("$name: it goes on once all trust both", ({ lost }) => {
    const course = leaving();
    while (courses(course.snapshot).client.at !== "show" || courses(course.snapshot).peer.at !== "show") course.step();
    course.step();
    for (const name of lost) course.lose(name);
    expect(told(course)).toContain("members go on with it until they show what is asked for");
    course.run();
    course.remove("my-etcd-client");
    course.run();
    expect(course.shown).toEqual({ ...THEIR_NAMES, ...ALONE });
  });
});

/** A cluster whose Secrets cert-manager fills under the operator's own names, as an earlier operator asked for. */
function earlier(): Course {
  const brought = secured({}, OWN_PAIRS, { isOurs: false, by: NEXT });
  const recorded = { notAfter: "2026-03-22T12:00:00Z", issuer: "CN=a" };
  const certificates = Object.values(OWN_NAMES).map((name) => ({ name, ...recorded }));
  const { tls: _, ...spec } = brought.cluster.spec;
  const status = { ...brought.cluster.status, certificates };
  const asked = { ...brought.cluster, status, spec: { ...spec, tls: tlsSpec(MANAGER) } };
  const course = new Course({ ...brought, cluster: asked });
  for (const name of Object.values(OWN_NAMES)) {
    const purpose = name === OWN_NAMES.peer ? "peer" : name === OWN_NAMES.client ? "server" : "operator";
    const facts = made(brought, purpose, { isOurs: false, by: NEXT, mayBeShown: false });
    course.secrets.set(name, { ...facts, secretName: name, certificateName: name });
  }
  const application = made({ ...brought, cluster: asked }, "application", { isOurs: false, by: NEXT });
  course.secrets.set("my-etcd-client", {
    ...application,
    secretName: "my-etcd-client",
    certificateName: "my-etcd-client",
  });
  course.ask(MANAGER);
  return course;
}

test("what cert-manager fills under the operator's own names, since an earlier operator asked for it so, is followed by Secrets of the issuer", () => {
  const course = earlier();
  expect(operatorSecretName(course.snapshot.cluster)).toBe("my-etcd-operator-tls");
  expect(told(course)).not.toContain("SecretNotAllowed");
  course.run((each) => {
    expect(told(each)).not.toContain("SecretNotAllowed");
  });
  expect(course.shown).toEqual({ ...issuedNames("a3b319c8"), ...ALONE });

  // Nobody writes two authorities into what cert-manager fills for applications.
  course.ask(OTHER);
  course.run();
  expect(course.shown).toMatchObject({ client: "my-etcd-server-tls-a3b319c8" });
  expect(told(course)).toContain(
    "Secret my-etcd-client, which cert-manager fills, does not say whom clients are to trust besides; delete Certificate my-etcd-client and the Secret: then applications get another one",
  );
  course.remove("my-etcd-client");
  expect(course.run()).toContain("handOut");
  expect(course.shown).toEqual({ ...issuedNames("f9fcb5ce"), ...ALONE });
});

const lacking: { name: string; bring: (course: Course) => void; says: string }[] = [
  {
    name: "is not there",
    bring: () => undefined,
    says: "Secret foo/their-server, what members show to clients, is not there",
  },
  {
    name: "is half a pair",
    bring: (course) => course.bring(["server"], { trouble: "it has no tls.key" }),
    says: "it has no tls.key",
  },
  {
    name: "is not good for the members",
    bring: (course) => course.bring(["server"], { names: ["localhost"] }),
    says: "its tls.crt is not good for my-etcd-0",
  },
  { name: "has ended", bring: (course) => course.bring(["server"], { lastsMs: -1 }), says: "has ended" },
];

describe("nothing changes while what is to be shown", () => {
  test.each(lacking)("$name", ({ bring, says }) => {
    const course = settled();
    course.ask({ client: SECRET.client });
    course.bring(["operator"]);
    bring(course);
    course.run();
    expect(course.restarts).toBe(0);
    expect(course.shown).toEqual({ ...OWN_NAMES, ...ALONE });
    expect(told(course)).toContain(says);
  });

  const strangers: { name: string; server: object; operator: object; says: string }[] = [
    {
      name: "would not let the operator in",
      server: {},
      operator: { by: NEXT, trust: bundle(NEXT, THEIRS) },
      says: "and members would not let the operator in",
    },
    {
      name: "would not be believed by the operator",
      server: { trust: bundle(THEIRS, NEXT) },
      operator: { by: NEXT },
      says: "and the operator would not believe members",
    },
  ];
  test.each(strangers)("strangers: $name", ({ server, operator, says }) => {
    const course = settled();
    course.ask({ client: SECRET.client });
    course.bring(["server"], server);
    course.bring(["operator"], operator);
    course.run();
    expect(course.restarts).toBe(0);
    expect(courses(course.snapshot).client).toMatchObject({ at: "waiting" });
    expect(told(course)).toContain(says);
  });
});

test("what is in use is renewed for as long as what is to be shown is not there", () => {
  const course = settled(secured({}, {}, { lastsMs: 3_550 * 86_400_000 }));
  for (const name of [...Object.values(OWN_NAMES), "my-etcd-client"]) {
    const facts = course.secrets.get(name)!;
    course.secrets.set(name, { ...facts, notAfterMs: course.snapshot.takenAtMs + 86_400_000 });
  }
  course.ask(SECRET);
  expect([...course.run()].sort()).toEqual(
    ["issueLeaf application", "issueLeaf operator", "issueLeaf peer", "issueLeaf server"].sort(),
  );
});

describe("while etcd asks for users", () => {
  const asking = (users: Record<string, string[]>) => {
    const course = new Course(guarded({ recorded: true }), {
      "etcd-cluster-operator": ["root"],
      root: ["root"],
      ...users,
    });
    expect(course.run()).toEqual([]);
    return course;
  };
  const tellsOfUsers = ({ snapshot }: Course) => {
    const verdict = authReady({ snapshot, plan: planCluster(snapshot) });
    return `${verdict?.reason}: ${verdict?.message}`;
  };

  test("the name of the operator's next certificate is an administrator before anybody goes over to it", () => {
    const course = asking({});
    course.ask(SECRET);
    course.bring(BROUGHT, { commonName: "their-operator" });
    expect(course.run()).toEqual(expect.arrayContaining(["addUser", "grantRole"]));
    expect(course.shown).toMatchObject(THEIR_NAMES);
    expect(course.users?.get("their-operator")).toEqual(["root"]);
    expect(course.snapshot.cluster.status?.auth).toEqual({ enabled: true, operators: ["their-operator"] });
    expect(tellsOfUsers(course)).toContain("AuthEnabled: etcd asks for users; the operator is their-operator");
  });

  test.each([
    ["somebody has that user", { "their-operator": ["reader"] }, "their-operator", "OperatorUserTaken"],
    ["it has no name", {}, "", "OperatorUserInvalid"],
    ["it is called root", {}, "root", "OperatorUserInvalid"],
  ])("nobody goes over to it where %s, and people are told", (_, users, commonName, reason) => {
    const course = asking(users);
    course.ask(SECRET);
    course.bring(BROUGHT, { commonName });
    course.run();
    expect(course.shown).toMatchObject({ client: OWN_NAMES.client, operator: OWN_NAMES.operator });
    expect(told(course)).toContain("etcd asks for users, and the operator is to show Secret their-operator");
    expect(tellsOfUsers(course)).toContain(`${reason}: the certificate in Secret their-operator has`);
    expect(course.users?.get("their-operator")).toEqual((users as Record<string, string[]>)["their-operator"]);
  });

  test("the same name, or an administrator's, is no matter", () => {
    for (const [users, commonName] of [
      [{}, "etcd-cluster-operator"],
      [{ ops: ["root"] }, "ops"],
    ] as const) {
      const course = asking(users as never);
      course.ask(SECRET);
      course.bring(BROUGHT, { commonName });
      expect(course.run()).not.toContain("addUser");
      expect(course.shown).toMatchObject(THEIR_NAMES);
    }
  });
});
