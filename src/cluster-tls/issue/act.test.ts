import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ROTATE_CA_ANNOTATIONS, ROTATED_FOR_ANNOTATION } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { present } from "#base/observed.ts";
import { noIdentities } from "#certificates/dial.ts";
import { factsOf, textIn } from "#certificates/facts.ts";
import { issuer } from "#certificates/issue.ts";
import { isPair } from "#certificates/pem.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot, LeafPurpose, Purpose } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { phaseOf } from "#cluster-tls/change/ca-rotation.ts";
import { certificateProblem } from "#cluster-tls/check/certificate-problem.ts";
import { seen as certificateOf } from "#cluster-tls/read/usable.ts";
import { renewed } from "#kit/etcd/certified-authority.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import { goingTo, running, unissued, withSeen } from "#kit/snapshots/cluster-tls.ts";
import { type Draft, type KubeObject, keyOf, type Secret } from "#kube/kinds.ts";
import { needAsSeen } from "./act.ts";

// Certificates are checked as a peer would; openssl judges the same in certificates/issue.test.ts.

/** An API server with nothing but Secrets. */
class Secrets {
  readonly all = new Map<string, Secret>();
  #version = 1;
  readonly kube = {
    get: (_: unknown, ref: { namespace: string; name: string }) => {
      const found = this.all.get(keyOf(ref));
      return found === undefined
        ? Promise.reject(new OperatorError("KubeNotFound", "it is missing"))
        : Promise.resolve(found);
    },
    create: (_: unknown, draft: Draft<Secret>) => {
      if (this.all.has(this.#key(draft))) return Promise.reject(new OperatorError("KubeAlreadyExists", "it is there"));
      return Promise.resolve(this.#store(draft));
    },
    replace: (_: unknown, draft: Draft<Secret>) => {
      const live = this.all.get(this.#key(draft));
      const { uid, resourceVersion } = draft.metadata;
      if (live?.metadata.uid !== uid || live?.metadata.resourceVersion !== resourceVersion)
        return Promise.reject(new OperatorError("KubeConflict", "it has changed"));
      return Promise.resolve(this.#store(draft));
    },
  } as unknown as ClusterWrites["kube"];

  named(name: string): Secret {
    const found = this.all.get(`foo/${name}`);
    if (found === undefined) throw new Error(`${name} is missing`);
    return found;
  }

  /** The snapshot that the operator makes of these Secrets. */
  seenBy(snapshot: ClusterSnapshot): ClusterSnapshot {
    const names: Record<Purpose, string> = {
      peerCA: "my-etcd-peer-ca",
      clientCA: "my-etcd-client-ca",
      peer: "my-etcd-peer-tls",
      server: "my-etcd-server-tls",
      operator: "my-etcd-operator-tls",
      application: "my-etcd-client",
    };
    return Object.entries(names).reduce((given, [purpose, name]) => {
      const found = this.all.get(`foo/${name}`);
      if (found === undefined) return given;
      const facts = factsOf(found, purpose.endsWith("CA") ? "authority" : "leaf");
      return withSeen(given, { [purpose]: present({ ...facts, knownForMs: 3_600_000 }) });
    }, snapshot);
  }

  #key(draft: Draft<KubeObject>): string {
    return `${draft.metadata.namespace}/${draft.metadata.name}`;
  }

  #store(draft: Draft<Secret>): Secret {
    const uid = draft.metadata.uid ?? `uid-${this.all.size}`;
    const stored = {
      ...draft,
      metadata: { ...draft.metadata, uid, resourceVersion: String(this.#version++) },
    } as Secret;
    this.all.set(this.#key(draft), stored);
    return stored;
  }
}

const { headlessService } = cluster();
const first = unissued({ stage: "recorded", with: { headlessService } });
const isAboutSecrets = (step: ClusterStep) => /^(issue|rotate|spread)/.test(step.do);

async function act(secrets: Secrets, step: ClusterStep, snapshot: ClusterSnapshot): Promise<void> {
  const parts = { kube: secrets.kube, etcd: {} as ClusterWrites["etcd"], identities: noIdentities, issuer };
  await actOnCluster(parts, step, snapshot, new AbortController().signal);
}

/** Takes one step after another, as long as they are about Secrets. @returns the steps */
async function carryOn(secrets: Secrets, snapshot: ClusterSnapshot): Promise<readonly string[]> {
  const done: string[] = [];
  for (;;) {
    const seen = secrets.seenBy(snapshot);
    const plan = planCluster(seen);
    if (plan.next !== "step" || !isAboutSecrets(plan.step)) return done;
    await act(secrets, plan.step, seen);
    const { step } = plan;
    done.push(`${step.do} ${"purpose" in step ? step.purpose : "side" in step ? step.side : ""}`);
    if (done.length > 20) throw new Error(`it never ends: ${done.join(", ")}`);
  }
}

const secrets = new Secrets();
const done = await carryOn(secrets, first);

describe("a new cluster with TLS", () => {
  test("gets two CAs and all certificates, each in one write", () => {
    expect(done).toEqual([
      "issueAuthority peer",
      "issueAuthority client",
      "issueLeaf peer",
      "issueLeaf server",
      "issueLeaf operator",
      "issueLeaf application",
    ]);
  });

  test("owns its Secrets, which are complete and of the TLS type", () => {
    expect([...secrets.all.keys()]).toEqual([
      "foo/my-etcd-peer-ca",
      "foo/my-etcd-client-ca",
      "foo/my-etcd-peer-tls",
      "foo/my-etcd-server-tls",
      "foo/my-etcd-operator-tls",
      "foo/my-etcd-client",
    ]);
    for (const secret of secrets.all.values()) {
      expect(secret).toMatchObject({
        type: "kubernetes.io/tls",
        metadata: { labels: { "etcd.improbable.io/cluster-name": "my-etcd" } },
      });
      expect(secret.metadata.ownerReferences).toMatchObject([{ uid: "uid-of-cluster", controller: true }]);
      expect(isPair(textIn(secret, "tls.crt"), textIn(secret, "tls.key"))).toBe(true);
    }
  });

  test("keeps the key of each CA in one Secret only", () => {
    for (const authority of ["my-etcd-peer-ca", "my-etcd-client-ca"]) {
      const key = textIn(secrets.named(authority), "tls.key");
      const holders = [...secrets.all.values()].filter((each) =>
        Object.keys(each.data!).some((name) => textIn(each, name) === key),
      );
      expect(holders.map(({ metadata }) => metadata.name)).toEqual([authority]);
    }
  });

  test("has separate CAs for peers and clients", () => {
    const signer = (name: string) => factsOf(secrets.named(name), "leaf").signerId;
    const own = (name: string) => factsOf(secrets.named(name), "authority").fingerprint;
    expect(signer("my-etcd-peer-tls")).toBe(own("my-etcd-peer-ca"));
    for (const name of ["my-etcd-server-tls", "my-etcd-operator-tls", "my-etcd-client"])
      expect(signer(name)).toBe(own("my-etcd-client-ca"));
  });

  test("publishes its endpoints to applications", () => {
    expect(textIn(secrets.named("my-etcd-client"), "endpoints")).toBe("https://my-etcd-client.foo.svc:2379");
    expect(Object.keys(secrets.named("my-etcd-server-tls").data!)).toEqual(["tls.crt", "tls.key", "ca.crt"]);
  });

  test("has certificates with only the names, usages and validity that they need", () => {
    const of = (name: string) => new X509Certificate(textIn(secrets.named(name), "tls.crt"));
    expect(of("my-etcd-server-tls").subject ?? "").toBe("");
    expect(of("my-etcd-operator-tls").subject).toBe("CN=etcd-cluster-operator");
    expect(of("my-etcd-operator-tls").keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(of("my-etcd-peer-tls").checkHost("my-etcd-client.foo.svc")).toBeUndefined();
    expect(of("my-etcd-server-tls").checkHost("my-etcd-client.foo.svc")).toBeDefined();
    expect(of("my-etcd-server-tls").validToDate.getTime()).toBe(NOW + 90 * 86_400_000);
    expect(of("my-etcd-peer-ca").subject).toMatch(/^CN=my-etcd peer CA [0-9a-f]{12}$/);
  });

  test("has no key in a plan", () => {
    const seen = secrets.seenBy(first);
    const leaf = withSeen(seen, { peer: { is: "absent" } });
    const plan = planCluster(leaf);
    const text = JSON.stringify(plan);
    for (const each of secrets.all.values()) {
      const [, line = ""] = textIn(each, "tls.key").split("\n");
      expect(line.length).toBeGreaterThan(20);
      expect(text).not.toContain(line);
    }
    expect(text).not.toContain("PRIVATE");
  });
});

test("the common name of a CA has at most 64 characters for a cluster name of 52", async () => {
  const long = "a".repeat(52);
  const { metadata } = first.cluster;
  const all = new Secrets();
  const named = { ...first, cluster: { ...first.cluster, metadata: { ...metadata, name: long } } };
  await act(all, { do: "issueAuthority", side: "client", trust: "" }, named);
  const { subject } = new X509Certificate(textIn(all.named(`${long}-client-ca`), "tls.crt"));
  expect(subject.length - "CN=".length).toBeLessThanOrEqual(64);
});

/** A copy of these Secrets in another API server. */
function copied(): Secrets {
  const copy = new Secrets();
  for (const [key, secret] of secrets.all) copy.all.set(key, secret);
  return copy;
}

const members = running(secrets.seenBy({ ...unissued(), certificates: undefined }));

test("a Secret that has changed since it was read is not overwritten", async () => {
  const all = copied();
  const seen = all.seenBy(members);
  const facts = (purpose: Purpose) => certificateOf(seen, purpose)!;
  const steps: ClusterStep[] = [
    { do: "issueLeaf", purpose: "peer", authority: facts("peerCA"), facts: facts("peer") },
    { do: "spreadTrust", purpose: "peer", authority: facts("peerCA"), facts: facts("peer") },
    { do: "rotateAuthority", side: "peer", phase: "add", facts: facts("peerCA") },
  ];
  for (const name of ["my-etcd-peer-tls", "my-etcd-peer-ca"]) {
    const live = all.named(name);
    for (const change of [{ uid: "another" }, { resourceVersion: "99" }]) {
      all.all.set(`foo/${name}`, { ...live, metadata: { ...live.metadata, ...change } });
      for (const step of steps.filter(({ do: what }) => name.endsWith("-ca") === (what === "rotateAuthority")))
        await expect(act(all, step, seen)).rejects.toMatchObject({ code: "KubeConflict" });
      if (name.endsWith("-ca")) await expect(act(all, steps[0]!, seen)).rejects.toMatchObject({ code: "KubeConflict" });
    }
    all.all.set(`foo/${name}`, live);
  }
  await expect(act(all, { do: "issueAuthority", side: "peer", trust: "" }, seen)).rejects.toMatchObject({
    code: "KubeAlreadyExists",
  });
  expect([...all.all]).toEqual([...secrets.all]);
});

describe("a CA rotation", () => {
  const { metadata } = members.cluster;
  const asked = { ...members.cluster, metadata: { ...metadata, annotations: { [ROTATE_CA_ANNOTATIONS.peer]: "now" } } };
  const trustIds = (all: Secrets, name: string) => factsOf(all.named(name), "leaf").trustIds;

  test("completes all phases from the content of the Secrets", async () => {
    const all = copied();
    const before = factsOf(all.named("my-etcd-peer-ca"), "authority");
    let world: ClusterSnapshot = { ...members, cluster: asked };
    expect(await carryOn(all, world)).toEqual(["rotateAuthority peer", "spreadTrust peer"]);
    const added = factsOf(all.named("my-etcd-peer-ca"), "authority");
    expect(added).toMatchObject({ fingerprint: before.fingerprint, rotatedFor: "now", trouble: undefined });
    expect(added.trustIds).toEqual([before.fingerprint, added.nextId]);
    expect(trustIds(all, "my-etcd-peer-tls")).toEqual(added.trustIds);

    world = running(all.seenBy(world));
    expect(await carryOn(all, world)).toEqual(["rotateAuthority peer", "issueLeaf peer"]);
    world = running(all.seenBy(world));
    expect(await carryOn(all, world)).toEqual(["rotateAuthority peer", "spreadTrust peer"]);
    const after = factsOf(all.named("my-etcd-peer-ca"), "authority");
    expect(after).toMatchObject({
      fingerprint: added.nextId,
      nextId: undefined,
      trouble: undefined,
      rotatedFor: "now",
    });
    expect(after.trustIds).toEqual([added.nextId]);
    expect(factsOf(all.named("my-etcd-peer-tls"), "leaf")).toMatchObject({
      signerId: added.nextId,
      trouble: undefined,
    });
    expect(textIn(all.named("my-etcd-peer-ca"), "next.key")).toBe("");
    expect(textIn(all.named("my-etcd-peer-ca"), "tls.key")).not.toBe(
      textIn(secrets.named("my-etcd-peer-ca"), "tls.key"),
    );

    world = running(all.seenBy(world));
    expect(await carryOn(all, world)).toEqual([]);
    expect(await carryOn(all, { ...world, cluster: members.cluster })).toEqual(["rotateAuthority peer"]);
    expect(all.named("my-etcd-peer-ca").metadata.annotations).toEqual({});
    expect(phaseOf(all.seenBy({ ...world, cluster: members.cluster }), "peer")).toBeUndefined();
  });

  test("keeps the next CA that a user removed from ca.crt", async () => {
    const all = copied();
    const world: ClusterSnapshot = { ...members, cluster: asked };
    await carryOn(all, world);
    const name = "my-etcd-peer-ca";
    const added = all.named(name);
    const own = Buffer.from(textIn(added, "tls.crt")).toString("base64");
    const { [ROTATED_FOR_ANNOTATION]: _, ...annotations } = added.metadata.annotations ?? {};
    const metadata = { ...added.metadata, annotations, resourceVersion: "by hand" };
    all.all.set(`foo/${name}`, { ...added, metadata, data: { ...added.data, "ca.crt": own } });
    const trusting = running(all.seenBy(world));
    const again = ["spreadTrust peer", "rotateAuthority peer", "spreadTrust peer"];
    expect(await carryOn(all, trusting)).toEqual([...again, "rotateAuthority peer", "issueLeaf peer"]);
    const { data = {} } = all.named(name);
    expect([data["tls.crt"], data["tls.key"]]).toEqual([added.data?.["next.crt"], added.data?.["next.key"]]);
    expect(factsOf(all.named(name), "authority").trustIds).toHaveLength(2);
    // A later request is still to be done.
    expect(all.named(name).metadata.annotations?.[ROTATED_FOR_ANNOTATION]).toBeUndefined();
  });

  test("keeps the Secret's type, and annotations of others", async () => {
    const all = copied();
    const live = all.named("my-etcd-client");
    const annotations = { ...live.metadata.annotations, theirs: "stays" };
    all.all.set("foo/my-etcd-client", {
      ...live,
      type: "Opaque",
      metadata: { ...live.metadata, annotations, labels: { own: "a" } },
    });
    const seen = all.seenBy(members);
    const facts = (purpose: Purpose) => certificateOf(seen, purpose)!;
    const purpose: LeafPurpose = "application";
    await act(all, { do: "issueLeaf", purpose, authority: facts("clientCA"), facts: facts(purpose) }, seen);
    expect(all.named("my-etcd-client")).toMatchObject({
      type: "Opaque",
      metadata: {
        annotations: { theirs: "stays" },
        labels: { own: "a", "etcd.improbable.io/cluster-name": "my-etcd" },
      },
    });
  });

  test("adds, changes and removes labels and annotations of spec.clientSecret beside the same certificate", async () => {
    const all = copied();
    const name = "my-etcd-client";
    const before = all.named(name);
    const as = (metadata?: object) => ({
      ...members,
      cluster: {
        ...members.cluster,
        spec: { ...members.cluster.spec, ...(metadata && { clientSecret: { metadata } }) },
      },
    });
    const shown = () => {
      const { labels = {}, annotations = {} } = all.named(name).metadata;
      return [labels, annotations].map((each) => Object.keys(each).filter((key) => !/^(app|etcd)[.]/.test(key)));
    };
    const written = ["spreadTrust application"];
    const given = as({ labels: { team: "a" }, annotations: { copy: "x" } });
    expect([await carryOn(all, given), shown()]).toEqual([written, [["team"], ["copy"]]]);
    const live = all.named(name);
    const metadata = {
      ...live.metadata,
      labels: { ...live.metadata.labels, mine: "m" },
      annotations: { ...live.metadata.annotations, mine: "m", copy: "changed" },
    };
    all.all.set(`foo/${name}`, { ...live, metadata });
    expect(await carryOn(all, given)).toEqual(written);
    expect(all.named(name).metadata.annotations).toMatchObject({ mine: "m", copy: "x" });
    expect([await carryOn(all, as({ labels: { tier: "b" } })), shown()]).toEqual([
      written,
      [["mine", "tier"], ["mine"]],
    ]);
    expect([await carryOn(all, as()), shown()]).toEqual([written, [["mine"], ["mine"]]]);
    expect(all.named(name).data).toEqual(before.data);
    expect(all.named(name).metadata.annotations).toMatchObject(before.metadata.annotations ?? {});
  });

  test("to a user's own CA begins once its Secret has both CAs, and all members trust both before it signs", async () => {
    const all = copied();
    const name = "my-etcd-peer-ca";
    const before = all.named(name);
    const own = await issuer.newAuthority("their own", { fromMs: NOW - 1_000, untilMs: NOW + 3_000 * 86_400_000 });
    const put = (trust: string) => {
      const texts = { "tls.crt": own.certificate, "tls.key": own.key, "ca.crt": trust };
      const data = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
      const metadata = { ...before.metadata, resourceVersion: `by hand ${trust.length}` };
      all.all.set(`foo/${name}`, { ...before, metadata, data: Object.fromEntries(data) });
    };
    put(own.certificate);
    expect(await carryOn(all, members)).toEqual([]);
    expect(all.named("my-etcd-peer-tls")).toEqual(secrets.named("my-etcd-peer-tls"));
    put(own.certificate + textIn(before, "tls.crt"));
    expect(await carryOn(all, members)).toEqual(["spreadTrust peer"]);
    const trusting = running(all.seenBy(members));
    expect(await carryOn(all, trusting)).toEqual(["issueLeaf peer"]);
    const showing = running(all.seenBy(trusting));
    expect(await carryOn(all, showing)).toEqual(["rotateAuthority peer", "spreadTrust peer"]);
    const { fingerprint } = factsOf(all.named(name), "authority");
    expect(factsOf(all.named("my-etcd-peer-tls"), "leaf")).toMatchObject({
      signerId: fingerprint,
      trustIds: [fingerprint],
      trouble: undefined,
    });
  });

  test.each(["older", "newer"] as const)(
    "keeps a CA with a certificate that a person has renewed, with the %s certificate first in ca.crt",
    async (first) => {
      const all = copied();
      const name = "my-etcd-peer-ca";
      const before = all.named(name);
      const older = { certificate: textIn(before, "tls.crt"), key: textIn(before, "tls.key") };
      const newer = await renewed(older, { fromMs: NOW - 1_000, untilMs: NOW + 3_600 * 86_400_000 });
      const bundle = first === "older" ? [older, newer] : [newer, older];
      const texts = {
        "tls.crt": newer.certificate,
        "tls.key": older.key,
        "ca.crt": bundle.map(({ certificate }) => certificate).join(""),
      };
      const data = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
      const metadata = { ...before.metadata, resourceVersion: "by hand" };
      all.all.set(`foo/${name}`, { ...before, metadata, data: Object.fromEntries(data) });
      const pair = textIn(all.named("my-etcd-peer-tls"), "tls.crt");
      expect(await carryOn(all, members)).toEqual(["spreadTrust peer"]);
      const trusting = running(all.seenBy(members));
      expect(await carryOn(all, trusting)).toEqual(["rotateAuthority peer", "spreadTrust peer"]);
      const settled = running(all.seenBy(trusting));
      expect(await carryOn(all, settled)).toEqual([]);
      // The certificates are as valid as before, and were not reissued.
      expect(textIn(all.named("my-etcd-peer-tls"), "tls.crt")).toBe(pair);
      const { fingerprint, trustIds } = factsOf(all.named(name), "authority");
      expect(trustIds).toEqual([fingerprint]);
      expect(factsOf(all.named("my-etcd-peer-tls"), "leaf")).toMatchObject({ trustIds, trouble: undefined });
    },
  );

  test("by a user is reported with advice while the peer Secret is missing", async () => {
    const all = copied();
    const [authorityName, shownName] = ["my-etcd-peer-ca", "my-etcd-peer-tls"];
    const [before, shown] = [all.named(authorityName), all.named(shownName)];
    const other = await issuer.newAuthority("their own", { fromMs: NOW - 1_000, untilMs: NOW + 3_000 * 86_400_000 });
    const put = (all: Secrets, trust: string) => {
      const texts = { "tls.crt": other.certificate, "tls.key": other.key, "ca.crt": trust };
      const data = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
      const metadata = { ...before.metadata, resourceVersion: `by hand ${trust.length}` };
      all.all.set(`foo/${authorityName}`, { ...before, metadata, data: Object.fromEntries(data) });
    };
    const lost = withSeen(members, { peer: { is: "absent" } });
    const told = (all: Secrets) => {
      const plan = planCluster(all.seenBy(lost));
      return plan.reports?.map(({ rule, because }) => `${rule}: ${because}`);
    };
    const WHY =
      "issue-ca: Secret foo/my-etcd-peer-tls, the peer certificate of members, is missing and is not created: my-etcd-0, my-etcd-1, my-etcd-2 would not trust the CA in Secret my-etcd-peer-ca; restore the Secret. Or put into Secret my-etcd-peer-ca the tls.crt, tls.key and ca.crt of the CA that they trust. If both are lost, restore a backup into another EtcdCluster";
    put(all, other.certificate);
    all.all.delete(`foo/${shownName}`);
    expect([await carryOn(all, lost), told(all)]).toEqual([[], [WHY]]);
    expect(certificateProblem(all.seenBy(lost), "peer")?.message).toBe(WHY.replace("issue-ca: ", ""));
    // The advice for an existing Secret does not help: members do not learn of the CA.
    put(all, other.certificate + textIn(before, "tls.crt"));
    expect([await carryOn(all, lost), told(all)]).toEqual([[], [WHY]]);
    const remade = copied();
    for (const name of [authorityName, shownName]) remade.all.delete(`foo/${name}`);
    const nothing = withSeen(lost, { peerCA: { is: "absent" } });
    expect(await carryOn(remade, nothing)).toEqual(["issueAuthority peer"]);
    expect(told(remade)).toEqual([WHY]);
    // The Secret is restored: then the rotation continues as usual.
    all.all.set(`foo/${shownName}`, shown);
    expect(await carryOn(all, members)).toEqual(["spreadTrust peer"]);
    // Or the CA is restored.
    all.all.delete(`foo/${shownName}`);
    all.all.set(`foo/${authorityName}`, { ...before, metadata: { ...before.metadata, resourceVersion: "back" } });
    expect(await carryOn(all, lost)).toEqual(["issueLeaf peer"]);
    expect(told(all)).toBeUndefined();
    expect(factsOf(all.named(shownName), "leaf").signerId).toBe(factsOf(before, "authority").fingerprint);
  });

  test("after the loss of a CA keeps the lost CA trusted beside the new one", async () => {
    const all = copied();
    const before = factsOf(all.named("my-etcd-peer-ca"), "authority").fingerprint;
    all.all.delete("foo/my-etcd-peer-ca");
    const lost = withSeen(all.seenBy(members), { peerCA: { is: "absent" } });
    const plan = planCluster(lost);
    if (plan.next !== "step") throw new Error("a new CA is planned");
    await act(all, plan.step, lost);
    const after = factsOf(all.named("my-etcd-peer-ca"), "authority");
    expect(after.trustIds).toEqual([after.fingerprint, before]);
    expect(await carryOn(all, members)).toEqual(["spreadTrust peer"]);
    const trusting = running(all.seenBy(members));
    expect(await carryOn(all, trusting)).toEqual(["issueLeaf peer"]);
    const showing = running(all.seenBy(trusting));
    expect(await carryOn(all, showing)).toEqual(["rotateAuthority peer", "spreadTrust peer"]);
  });
});

describe("a certificate of another issuer", () => {
  const by = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
  const given = unissued({}, { client: by });
  const issuedIn = "my-etcd-client-a3b319c8";

  /** cert-manager has issued the client certificate of applications. */
  function filled() {
    const all = copied();
    const source = {
      ...all.named("my-etcd-client"),
      metadata: { namespace: "foo", name: issuedIn, uid: "i", resourceVersion: "7" },
    };
    all.all.delete("foo/my-etcd-client");
    all.all.set(`foo/${issuedIn}`, source as Secret);
    return { all, facts: { ...factsOf(source as Secret, "leaf"), knownForMs: 0, signerForMs: 0 } };
  }

  test("is published to applications with CAs and endpoints, but not from a Secret that has changed", async () => {
    const { all, facts } = filled();
    const trust = textIn(all.named(issuedIn), "ca.crt");
    await act(all, { do: "publishClientSecret", source: facts, facts: undefined, trust: trust + trust }, given);
    const publishedCertificate = all.named("my-etcd-client");
    expect(publishedCertificate.type).toBe("kubernetes.io/tls");
    expect(publishedCertificate.metadata.ownerReferences).toMatchObject([{ uid: "uid-of-cluster", controller: true }]);
    expect(textIn(publishedCertificate, "endpoints")).toBe("https://my-etcd-client.foo.svc:2379");
    for (const key of ["tls.crt", "tls.key"])
      expect(textIn(publishedCertificate, key)).toBe(textIn(all.named(issuedIn), key));
    expect(textIn(publishedCertificate, "ca.crt")).toBe(trust + trust);
    const live = { ...factsOf(publishedCertificate, "leaf"), knownForMs: 0, signerForMs: 0 };
    await act(all, { do: "publishClientSecret", source: facts, facts: live, trust }, given);
    expect(textIn(all.named("my-etcd-client"), "ca.crt")).toBe(trust);
    const stale = { ...facts, resourceVersion: "6" };
    await expect(act(all, { do: "publishClientSecret", source: stale, facts: live, trust }, given)).rejects.toThrow(
      "has changed",
    );
  });

  test("is checked for changes before a member restarts with it", async () => {
    const all = copied();
    const name = "my-etcd-2";
    const theirs = {
      ...all.named("my-etcd-peer-tls"),
      metadata: { namespace: "foo", name: "theirs", uid: "t", resourceVersion: "7" },
    } as Secret;
    all.all.set("foo/theirs", theirs);
    const asked = goingTo(members, { peer: { provider: "Secret", secret: { name: "theirs" } } });
    const facts = { ...factsOf(theirs, "leaf"), knownForMs: 0, signerForMs: 0 };
    const seen = withSeen(asked, { peer: present(facts) });
    const tls = { ...members.peers[0]!.spec.tls!, peer: { secretName: "theirs", trust: facts.trust } };
    const peers = running(seen, [name], tls).peers;
    const pod = members.pods.get(name)!;
    const step = { do: "restartPod", name, pod } as const;
    const snapshot = { ...seen, peers };
    const parts = { kube: all.kube, issuer, snapshot, signal: new AbortController().signal };
    await expect(needAsSeen(parts, step)).resolves.toBeUndefined();
    all.all.set("foo/theirs", { ...theirs, metadata: { ...theirs.metadata, resourceVersion: "8" } });
    await expect(needAsSeen(parts, step)).rejects.toThrow("Secret foo/theirs has changed");
    await expect(needAsSeen(parts, { ...step, name: "my-etcd-1" })).resolves.toBeUndefined();
  });
});
