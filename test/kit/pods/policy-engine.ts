import { setTimeout as sleep } from "node:timers/promises";
import { run } from "#dev/run.ts";
import { kubectl } from "#kit/e2e/e2e.ts";
import { type AddressedPod, policyRules, type World } from "#kit/tables/policy-rules.ts";
import type { KubeList, KubeObject, NetworkPolicy, Pod } from "#kube/kinds.ts";

// Enforces the NetworkPolicies of one namespace, as a network plugin does; the local Kubernetes has none. Its nodes
// share one network, in which the tests run, too. So all traffic between pods, even of one node, is forwarded here.

const EVERY_MS = 500;

/** Enforces the policies until it is disposed of. */
export class PolicyEngine implements AsyncDisposable {
  readonly #namespace: string;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #rules = "";

  /** Waits until the current policies are enforced. */
  static async start(namespace: string): Promise<PolicyEngine> {
    const rules = await rulesOf(namespace);
    await run("nft", ["-f", "-"], { input: rules });
    return new PolicyEngine(namespace, rules);
  }

  private constructor(namespace: string, rules: string) {
    this.#namespace = namespace;
    this.#rules = rules;
    this.#running = this.#follow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await run("nft", ["delete", "table", "ip", tableOf(this.#namespace)]);
  }

  async #follow(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await sleep(EVERY_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      const rules = await rulesOf(this.#namespace);
      if (rules === this.#rules) continue;
      await run("nft", ["-f", "-"], { input: rules });
      this.#rules = rules;
    }
  }
}

function tableOf(namespace: string): string {
  return `policies-of-${namespace}`;
}

async function rulesOf(namespace: string): Promise<string> {
  const [policies, pods, namespaces] = await Promise.all([
    kubectl.json<KubeList<NetworkPolicy>>(["get", "networkpolicy", "-n", namespace]),
    kubectl.json<KubeList<Pod>>(["get", "pods", "--all-namespaces"]),
    kubectl.json<KubeList<KubeObject>>(["get", "namespaces"]),
  ]);
  const world: World = {
    pods: pods.items.flatMap((pod) => addressed(pod) ?? []).toSorted((a, b) => (a.address < b.address ? -1 : 1)),
    namespaces: new Map(namespaces.items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
  };
  return policyRules(tableOf(namespace), policies.items, world);
}

/** A pod that has ended has no address any more, whatever its status. */
function addressed({ metadata, status, spec }: Pod): AddressedPod | undefined {
  const { podIP: address, phase } = status ?? {};
  if (address === undefined || spec?.hostNetwork === true || phase === "Succeeded" || phase === "Failed")
    return undefined;
  const { namespace = "", name, labels = {} } = metadata;
  return { namespace, name, labels, address };
}
