import { dirname } from "node:path";
import { afterAll, expect, test } from "vitest";
import { TLS_ROLE } from "#api/names.ts";
import { mainBinary } from "#dev/components.ts";
import { run } from "#dev/run.ts";
import { instance, kubectl, testNamespace, UserCluster } from "#kit/e2e.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";
import { secretsEverywhere } from "../../scripts/rights.ts";

// The operator as people install it who grant it Secrets in some namespaces alone: they type what the README says, and then what is printed. All
// other tests run with the right everywhere, which is given back.

const suffix = Math.random().toString(36).slice(2, 8);
/** One that is there by then, and one that the command has to make. */
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

test("npm start --secrets-of makes the example where the right is granted, and what it says to try next works", async () => {
  await kubectl.run(["create", "namespace", THERE]);
  const command = `${process.execPath} dev/commands/start.ts --kubeconfig ${instance.kubeconfig} --image ${await operatorImage()} --secrets-of ${NEW},${THERE}`;
  const printed = await typed(command);
  expect(printed).toContain("etcd says: hello at ");
  const next = printed.slice(printed.indexOf("Try next:")).split("\n").map((line) => line.trim()).filter((line) => /^(export|kubectl) /.test(line) && !line.includes("--watch")); // biome-ignore format: a line
  expect(next).toHaveLength(5);
  const tried = await typed(next.join("\n"));
  expect(tried).toContain("etcdcluster.etcd.improbable.io/my-etcd");
  expect(tried).toContain("OK");
  await new UserCluster(NEW).untilReady();
}, 300_000);

test("where it is not granted a cluster says so, with the command that grants it, which works as it is printed", async () => {
  await using elsewhere = await testNamespace("install-elsewhere");
  const cluster = new UserCluster(elsewhere.name);
  await cluster.create({ replicas: 1, tls: undefined } as never);
  const { status } = await cluster.untilCondition("Ready", "False", "RightMissing");
  const told = status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
  const [, command = ""] = /who may grant that does so by: (kubectl .*)$/.exec(told) ?? [];
  expect(command).toContain(`create rolebinding ${TLS_ROLE} --namespace ${elsewhere.name}`);
  await typed(`export KUBECONFIG=${instance.kubeconfig}\n${command}`);
  await cluster.untilReady();
}, 180_000);

test("taken away from a cluster that runs, it is told within two minutes, by a condition and an event, and nobody is stopped; given back, it goes on by itself", async () => {
  const cluster = new UserCluster(THERE);
  await cluster.create({ replicas: 1, tls: undefined, auth: { enabled: true } } as never);
  await cluster.untilReady();
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled");
  await cluster.kubectl("delete", "rolebinding", TLS_ROLE);
  const { status } = await cluster.untilCondition("TLSReady", "Unknown", "RightMissing", 120_000);
  const told = status?.conditions?.find(({ type }) => type === "TLSReady")?.message ?? "";
  const [, command = ""] = /who may grant that does so by: (kubectl .*)$/.exec(told) ?? [];
  await cluster.untilCondition("AuthReady", "Unknown", "RightMissing", 120_000);
  await cluster.untilReady();
  const events = await cluster.kubectl("get", "events.events.k8s.io", "-o", "json");
  for (const part of ['"reason": "right-missing"', command]) expect(events).toContain(part);
  await typed(`export KUBECONFIG=${instance.kubeconfig}\n${command}`);
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", 60_000);
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled", 120_000);
}, 500_000);
