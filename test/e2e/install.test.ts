import { dirname } from "node:path";
import { afterAll, expect, test } from "vitest";
import { TLS_ROLE } from "#api/names.ts";
import { mainBinary } from "#dev/components.ts";
import { run } from "#dev/run.ts";
import { eventually, instance, kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";
import { secretsEverywhere } from "../../scripts/rights.ts";

// Installation with access to Secrets in some namespaces only: the test runs the README's command, and then the
// commands it prints. All other tests run with access to Secrets everywhere, which is restored afterwards.

const suffix = Math.random().toString(36).slice(2, 8);
/** One namespace that the command must create, and one that exists already. */
const [NEW, THERE] = [`install-${suffix}`, `install-there-${suffix}`];
const env = { ...process.env, PATH: `${dirname(mainBinary("kubectl"))}:${process.env.PATH ?? ""}` };

afterAll(async () => {
  await kubectl.apply([secretsEverywhere()]);
  await kubectl.run(["delete", "namespace", NEW, THERE, "--ignore-not-found", "--wait=false"]);
});

async function typed(command: string): Promise<string> {
  const { stdout } = await run("bash", ["-ec", command], { env });
  return stdout;
}

async function operatorImage(): Promise<string> {
  const where = ["-n", OPERATOR_NAMESPACE, "get", "deployment", "etcd-cluster-operator"];
  const { stdout } = await kubectl.run([...where, "-o", "jsonpath={.spec.template.spec.containers[0].image}"]);
  return stdout;
}

test("npm start --secrets-of creates the example in the granted namespaces, and the printed next commands work", async () => {
  await kubectl.run(["create", "namespace", THERE]);
  const command = `${process.execPath} dev/commands/start.ts --kubeconfig ${instance.kubeconfig} --image ${await operatorImage()} --secrets-of ${NEW},${THERE} --yes`;
  const printed = await typed(command);
  expect(printed).toContain("etcd says: hello at ");
  const next = printed.slice(printed.indexOf("Try next:")).split("\n").map((line) => line.trim()).filter((line) => /^(export|kubectl) /.test(line) && !line.includes("--watch")); // biome-ignore format: a line
  expect(next).toHaveLength(5);
  const tried = await typed(next.join("\n"));
  expect(tried).toContain("etcdcluster.etcd.improbable.io/my-etcd");
  expect(tried).toContain("OK");
  await new UserCluster(NEW).untilReady();
}, 300_000);

test("a cluster in a namespace without the right to read Secrets reports a command that grants it", async () => {
  await using elsewhere = await testNamespace("install-elsewhere");
  const cluster = new UserCluster(elsewhere.name);
  await cluster.create({ replicas: 1, tls: undefined });
  const { status } = await cluster.untilCondition("Ready", "False", "RightMissing");
  const told = status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
  const [, command = ""] = /an administrator grants it with: (kubectl .*)$/.exec(told) ?? [];
  expect(command).toContain(`create rolebinding ${TLS_ROLE} --namespace ${elsewhere.name}`);
  await typed(`export KUBECONFIG=${instance.kubeconfig}\n${command}`);
  await cluster.untilReady();
}, 180_000);

test("a running cluster reports within two minutes that the right to read Secrets was removed, and recovers later", async () => {
  const cluster = new UserCluster(THERE);
  await cluster.create({ replicas: 1, tls: undefined, auth: { enabled: true } });
  await cluster.untilReady();
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled");
  await cluster.kubectl("delete", "rolebinding", TLS_ROLE);
  const { status } = await cluster.untilCondition("TLSReady", "Unknown", "RightMissing", 120_000);
  const told = status?.conditions?.find(({ type }) => type === "TLSReady")?.message ?? "";
  const [, command = ""] = /an administrator grants it with: (kubectl .*)$/.exec(told) ?? [];
  await cluster.untilCondition("AuthReady", "Unknown", "RightMissing", 120_000);
  await cluster.untilReady();
  const events = await cluster.kubectl("get", "events.events.k8s.io", "-o", "json");
  for (const part of ['"reason": "SecretAccessMissing"', command]) expect(events).toContain(part);
  await typed(`export KUBECONFIG=${instance.kubeconfig}\n${command}`);
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", 60_000);
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled", 120_000);
}, 500_000);

test.each([
  { role: "view", may: ["get etcdclusters"], mayNot: ["create etcdclusters"] },
  { role: "edit", may: ["create etcdclusters", "delete etcdusers"], mayNot: ["create etcdpeers"] },
  { role: "admin", may: ["create etcdclusters", "list etcdpeers"], mayNot: ["delete etcdpeers"] },
])("Kubernetes' role $role contains the rights to the operator's kinds", async ({ role, may, mayNot }) => {
  await using namespace = await testNamespace(`people-${role}`);
  const who = ["--namespace", namespace.name, "--as", "jane"];
  await kubectl.run(["create", "rolebinding", role, "-n", namespace.name, "--clusterrole", role, "--user", "jane"]);
  const asked = async (right: string) => {
    // kubectl exits with 1 for "no".
    const answer = await typed(
      `kubectl --kubeconfig ${instance.kubeconfig} auth can-i ${right} ${who.join(" ")} || true`,
    );
    return answer.trim();
  };
  for (const right of may) await eventually(async () => expect(await asked(right), right).toBe("yes"));
  for (const right of mayNot) expect(await asked(right), right).toBe("no");
});
