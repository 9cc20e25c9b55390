import { kubectl } from "#kit/e2e/e2e.ts";
import type { KubeList, Pod } from "#kube/kinds.ts";

// Output of a cluster for users with read access to everything except Secrets.

/** All objects of these namespaces except Secrets, including events, and the logs of all their pods. */
export async function toldIn(...namespaces: readonly string[]): Promise<string> {
  const { stdout } = await kubectl.run(["api-resources", "--namespaced", "--verbs=list", "-o", "name"]);
  const kinds = stdout.trim().split("\n").filter((kind) => kind !== "secrets"); // biome-ignore format: a sentence
  const texts: string[] = [];
  for (const at of namespaces) {
    texts.push((await kubectl.run(["-n", at, "get", kinds.join(","), "-o", "json"])).stdout);
    const { items } = await kubectl.json<KubeList<Pod>>(["-n", at, "get", "pods"]);
    for (const { metadata } of items) {
      const log = ["-n", at, "logs", metadata.name, "--all-containers", "--tail=-1"];
      texts.push(await kubectl.run(log).then(({ stdout: text }) => text, String));
    }
  }
  return texts.join("\n");
}
