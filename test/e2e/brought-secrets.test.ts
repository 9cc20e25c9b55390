import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { peerHost, TLS_LABEL } from "#api/names.ts";
import { newAuthority, newLeaf } from "#certificates/issue.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { metricsOfOperators } from "#kit/e2e/operator-metrics.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";
import { intermediate, renewed } from "#kit/etcd/certified-authority.ts";
import { dataOf } from "#kit/snapshots/certificates.ts";

// A cluster with TLS certificates from Secrets that other software fills: an intermediate CA signed them, and tls.crt has
// the chain.

const LABEL = `${TLS_LABEL}=true`;
let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("brought");
  cluster = new UserCluster(namespace.name);
  const nowMs = Date.now();
  // Of the lifetime of 33 days, 3 are left. Renewal is overdue, so there is a Warning event. TLSReady stays True until
  // a day is left.
  const times = { fromMs: nowMs - 30 * 86_400_000, untilMs: nowMs + 3 * 86_400_000 };
  // The operator's own CAs permit no intermediate CA.
  const root = await renewed(await newAuthority("other CA", times), times);
  const between = await intermediate(root, times);
  const host = peerHost(namespace.name, "my-etcd", "my-etcd-0");
  const names = [host, `my-etcd-client.${namespace.name}.svc`, "localhost"];
  const backups = new UserBackups(cluster);
  for (const name of ["peers", "server", "mine"]) {
    const { certificate, key } = await newLeaf(between, { names, usages: ["serverAuth", "clientAuth"], ...times });
    await backups.secret(name, dataOf({ certificate: certificate + between.certificate, key }, root.certificate));
  }
});
afterAll(async () => await namespace[Symbol.asyncDispose]());

async function label(name: string, text: string): Promise<void> {
  await cluster.kubectl("label", "secret", name, text);
}

test("members start when the provided Secrets have the label, and until then TLSReady shows the command for it", async () => {
  await label("server", LABEL);
  await cluster.create({
    replicas: 1,
    tls: {
      peer: { provider: "Secret", secret: { name: "peers" } },
      client: { provider: "Secret", secret: { server: { name: "server" }, operator: { name: "mine" } } },
    },
  });
  const { status } = await cluster.untilCondition("TLSReady", "False", "SecretNotAllowed");
  const message = status?.conditions?.find(({ type }) => type === "TLSReady")?.message;
  expect(message).toContain(`kubectl -n ${namespace.name} label secret peers ${LABEL}`);
  expect(message).toContain(`label secret mine ${LABEL}`);
  expect(await cluster.kubectl("get", "pods", "-o", "name")).toBe("");
  await label("peers", LABEL);
  await label("mine", LABEL);
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
  await cluster.untilReady();
});

test("an event and a metric report certificates in provided Secrets that expire soon", async () => {
  const { note, type } = await eventually(async () => {
    const { items } = await cluster.json<{ items: { reason: string; note: string; type: string }[] }>("get", "events.events.k8s.io"); // biome-ignore format: one line
    const found = items.find(({ reason }) => reason === "CertificateExpires");
    if (found === undefined) throw new Error("there is no event certificate-expires");
    return found;
  });
  expect(type).toBe("Warning");
  const told = await metricsOfOperators(namespace.name);
  for (const name of ["peers", "server", "mine"]) {
    expect(note).toContain(`Secret ${name}, `);
    const { "tls.crt": pem = "" } = await secretTexts(cluster, name);
    const labels = `namespace="${namespace.name}",cluster="my-etcd",name="${name}"`;
    const line = `etcd_operator_certificate_not_after_timestamp_seconds{${labels}} ${new X509Certificate(pem).validToDate.getTime() / 1_000}`;
    expect(told.join("\n")).toContain(`${line}\n`);
  }
});
