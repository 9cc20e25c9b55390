import { OperatorError } from "#base/error.ts";
import { isMap } from "#base/json.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { KubeClient } from "./client.ts";
import { type AnyResource, apiVersionOf } from "./kinds.ts";

/**
 * Whether the API server serves the kind, by discovery; for kinds with a CRD of another project. Reading an object does
 * not show it: reads are also answered 404 for moments after the CRD is created.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#discovery-api
 * @throws OperatorError Cancelled
 */
export async function isServed(
  kube: Pick<KubeClient, "raw">,
  resource: AnyResource,
  options: { readonly signal: AbortSignal },
): Promise<Observed<true>> {
  try {
    const groups = listIn(await kube.raw("GET", "/apis", options), "groups");
    const group = groups.find(({ name }) => name === resource.group);
    const versions = Array.isArray(group?.versions) ? group.versions.filter(isMap) : [];
    if (!versions.some(({ version }) => version === resource.version)) return absent;
    const kinds = listIn(await kube.raw("GET", `/apis/${apiVersionOf(resource)}`, options), "resources");
    return kinds.some(({ name }) => name === resource.plural) ? present(true) : absent;
  } catch (thrown) {
    if (!(thrown instanceof OperatorError) || thrown.code === "Cancelled") throw thrown;
    return unknown(thrown.message);
  }
}

/** @throws OperatorError KubeUnavailable */
function listIn(body: string, field: string): readonly Readonly<Record<string, unknown>>[] {
  const answer = parsed(body);
  const list = isMap(answer) ? answer[field] : undefined;
  if (!Array.isArray(list)) throw new OperatorError("KubeUnavailable", `discovery: the answer has no ${field}`);
  return list.filter(isMap);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (thrown) {
    throw new OperatorError("KubeUnavailable", "discovery: the answer is not JSON", { cause: thrown });
  }
}
