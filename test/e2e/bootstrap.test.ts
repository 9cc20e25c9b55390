import { expect, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import { eventually, kubectl, PATIENT_ETCDCTL, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";

interface Listed {
  items: {
    metadata: {
      name: string;
      uid: string;
      ownerReferences?: { kind: string; name: string }[];
      labels?: Record<string, string>;
    };
  }[];
}

async function namesOf(cluster: UserCluster, kind: string): Promise<string[]> {
  const { items } = await cluster.json<Listed>("get", kind, "-l", `etcd.improbable.io/cluster-name=${cluster.name}`);
  return items.map(({ metadata }) => metadata.name).sort();
}

test("the example manifest of the talk creates three healthy voters, and all objects have the names from the talk", async () => {
  await using namespace = await testNamespace("bootstrap");
  const cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3 }, "v1alpha1");
  const { status, spec } = await cluster.untilReady();

  expect(spec).toMatchObject({
    version: "3.6.16",
    storage: { size: "8Gi", accessModes: ["ReadWriteOnce"] },
  });
  expect(status).toMatchObject({
    readyMembers: "3/3",
    readyReplicas: 3,
    replicas: 3,
    version: "3.6.16",
    clusterVersion: "3.6.0",
  });
  const peers = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
  expect(status?.members?.map(({ name, health }) => ({ name, health }))).toEqual(
    peers.map((name) => ({ name, health: "Healthy" })),
  );
  expect(status?.members?.filter(({ role }) => role === "Leader").map(({ name }) => name)).toEqual([status?.leader]);

  expect(await namesOf(cluster, "etcdpeers")).toEqual(peers);
  expect(await namesOf(cluster, "replicasets")).toEqual(peers);
  expect(await namesOf(cluster, "persistentvolumeclaims")).toEqual(peers);
  expect(await namesOf(cluster, "services")).toEqual(["my-etcd", "my-etcd-client"]);
  expect(await namesOf(cluster, "poddisruptionbudgets")).toEqual(["my-etcd"]);
  const claims = await cluster.json<Listed>("get", "pvc");
  expect(claims.items.filter(({ metadata }) => metadata.ownerReferences !== undefined)).toEqual([]);

  const listed = await cluster.members("my-etcd-0");
  expect(listed.map(({ id }) => BigInt(id).toString(16))).toEqual(status?.members?.map(({ id }) => id));

  const columns = (await cluster.kubectl("get", "etcd", "my-etcd"))
    .trim()
    .split("\n")
    .map((line) => line.split(/\s{2,}/));
  expect(columns[0]?.slice(0, 5)).toEqual(["NAME", "READY", "VERSION", "LEADER", "STATUS"]);
  expect(columns[1]?.slice(0, 5)).toEqual(["my-etcd", "3/3", "3.6.16", status?.leader, "AllMembersHealthy"]);
});

test("clients reach the cluster through its Services, and SRV records name the members", async () => {
  await using namespace = await testNamespace("clients");
  const cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3 });
  await cluster.untilReady();
  await eventually(
    () => cluster.etcdctl("my-etcd-1", "--endpoints=http://my-etcd-client:2379", "put", "who", "a client"),
    20_000,
  );
  expect(await cluster.read("my-etcd-2", "who")).toBe("a client");
  const found = await cluster.etcdctl(
    "my-etcd-0",
    "--insecure-discovery",
    `--discovery-srv=my-etcd.${namespace.name}.svc.cluster.local`,
    "get",
    "who",
    "--print-value-only",
  );
  expect(found.trim()).toBe("a client");
});

test("a cluster without spec.tls gets TLS in its stored spec, and etcdctl in its pods needs no flags", async () => {
  await using namespace = await testNamespace("default-tls");
  const cluster = new UserCluster(namespace.name);
  const open = { replicas: 3, tls: undefined };
  await cluster.create(open);
  const { spec, status } = await cluster.untilReady(180_000);
  expect(spec.tls).toEqual(DEFAULT_TLS);
  expect(status?.identity?.peerScheme).toBe("https");
  const told = await eventually(async () => {
    const { items } = await cluster.json<{ items: { reason: string; note: string }[] }>("get", "events.events.k8s.io");
    const found = items.filter(({ reason }) => reason === "DefaultTls");
    if (found.length === 0) throw new Error("there is no event default-tls");
    return found;
  }, 30_000);
  expect(told.map(({ note }) => note)).toEqual([expect.stringContaining("spec.tls is not set")]);

  const exec = (...words: readonly string[]) =>
    cluster.kubectl("exec", "rs/my-etcd-0", "-c", "etcd", "--", ...PATIENT_ETCDCTL, ...words);
  expect(await exec("put", "greeting", "hello")).toContain("OK");
  // The Service routes to members a moment after they are ready.
  const read = () => exec("--endpoints=my-etcd-client:2379", "get", "greeting", "--print-value-only");
  expect((await eventually(read, 60_000)).trim()).toBe("hello");
  // etcdctl checks certificates against the discovery domain: members' certificates cover its short and its full form.
  for (const domain of ["my-etcd", `my-etcd.${namespace.name}.svc.cluster.local`])
    expect((await exec(`--discovery-srv=${domain}`, "get", "greeting", "--print-value-only")).trim()).toBe("hello");

  // Applying the manifest again, client-side or server-side, keeps the default. A replacing object must contain it.
  await cluster.create(open);
  const manifest = {
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    metadata: { name: "my-etcd", namespace: namespace.name },
    spec: { replicas: 3, version: DEFAULT_VERSION },
  };
  const input = JSON.stringify(manifest);
  await kubectl.run(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input });
  expect((await cluster.get()).spec.tls).toEqual(DEFAULT_TLS);
  const { stderr } = await kubectl.run(["replace", "-f", "-"], { input, mayFail: true });
  expect(stderr).toContain("tls is missing, and was given; it must be given");
  await cluster.untilReady();
}, 300_000);

test("members of a cluster are spread over nodes", async () => {
  await using namespace = await testNamespace("spread");
  const cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3 });
  await cluster.untilReady();
  const { items } = await cluster.json<{ items: { spec: { nodeName: string } }[] }>("get", "pods");
  expect(new Set(items.map(({ spec }) => spec.nodeName)).size).toBe(3);
});

test("when the operator is killed while members start, there is one cluster and no object is duplicated", async () => {
  await using namespace = await testNamespace("restart");
  const cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3 });
  const recorded = await eventually(async () => {
    const { status } = await cluster.get();
    if (status?.identity === undefined) throw new Error("status.identity is not set yet");
    return status.identity;
  });
  await kubectl.run([
    "delete",
    "pod",
    "-n",
    "etcd-operator-system",
    "-l",
    "app.kubernetes.io/name=etcd-cluster-operator",
    "--grace-period=0",
    "--force",
  ]);
  const { status } = await cluster.untilReady(120_000);
  expect(status?.identity?.clusterID).toBe(recorded.clusterID);
  expect(status?.identity?.token).toBe(recorded.token);
  expect((await cluster.members("my-etcd-1")).length).toBe(3);
  expect(await namesOf(cluster, "etcdpeers")).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
  expect((await namesOf(cluster, "pods")).length).toBe(3);
});

for (const version of ["3.5.35", "3.7.3"]) {
  test(`a cluster of one member runs etcd ${version}`, async () => {
    await using namespace = await testNamespace("version");
    const cluster = new UserCluster(namespace.name, "single");
    await cluster.create({ replicas: 1, version });
    const { status } = await cluster.untilReady();
    expect(status).toMatchObject({ readyMembers: "1/1", version, leader: "single-0" });
    await cluster.put("single-0", "key", "value");
    expect(await cluster.read("single-0", "key")).toBe("value");
  });
}
