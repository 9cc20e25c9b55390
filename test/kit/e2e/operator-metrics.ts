import { request } from "node:https";
import { OPERATOR, WEBHOOKS } from "#api/names.ts";
import type { KubeList, Pod, Secret } from "#kube/kinds.ts";
import { webhookHost } from "#webhooks/certificate/keeper.ts";
import { OPERATOR_NAMESPACE } from "../../../scripts/manifests.ts";
import { METRICS_READER_ROLE } from "../../../src/bin/permissions.ts";
import { eventually, kubectl } from "./e2e.ts";

// The metrics of the deployed operator, as a Prometheus reads them: over TLS, with the token of a service account.

export interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

export async function operatorPods(): Promise<readonly Pod[]> {
  const select = ["-n", OPERATOR_NAMESPACE, "get", "pods", "-l", `app.kubernetes.io/name=${OPERATOR}`];
  return (await kubectl.json<KubeList<Pod>>(select)).items;
}

/** @param token by default none is sent */
export async function askMetrics(pod: Pod, token?: string): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { data } = await kubectl.json<Secret>(["-n", OPERATOR_NAMESPACE, "get", "secret", WEBHOOKS]);
  const ca = Buffer.from(data?.["ca.crt"] ?? "", "base64").toString();
  const servername = webhookHost(OPERATOR_NAMESPACE);
  const to = { host: pod.status?.podIP, port: 8443, path: "/metrics", servername, ca, headers, agent: false };
  return await new Promise((resolve, reject) => {
    request(to, (answer) => {
      let text = "";
      answer.on("data", (bytes) => (text += bytes));
      answer.on("end", () => resolve({ status: answer.statusCode, text }));
    })
      .on("error", reject)
      .end();
  });
}

/**
 * Creates a service account in the test's own namespace.
 * @returns its token
 */
export async function accountIn(namespace: string): Promise<string> {
  await kubectl.run(["-n", namespace, "create", "serviceaccount", "prometheus"]);
  return (await kubectl.run(["-n", namespace, "create", "token", "prometheus"])).stdout.trim();
}

/** Lets that account read metrics. `await using` revokes it. */
export async function lettingRead(namespace: string): Promise<AsyncDisposable> {
  const account = `--serviceaccount=${namespace}:prometheus`;
  await kubectl.run(["create", "clusterrolebinding", namespace, `--clusterrole=${METRICS_READER_ROLE}`, account]);
  return {
    [Symbol.asyncDispose]: async () => {
      await kubectl.run(["delete", "clusterrolebinding", namespace, "--ignore-not-found"]);
    },
  };
}

/**
 * The metrics of every replica.
 * @param namespace the test's own, in which a service account is created for it
 */
export async function metricsOfOperators(namespace: string): Promise<readonly string[]> {
  const token = await accountIn(namespace);
  await using _ = await lettingRead(namespace);
  const shown = async (pod: Pod) =>
    await eventually(async () => {
      const { status, text } = await askMetrics(pod, token);
      if (status !== 200) throw new Error(`${status}: ${text}`);
      return text;
    }, 30_000);
  return await Promise.all((await operatorPods()).map(shown));
}
