import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { whyNotFlags } from "#etcd/flags.ts";

// Why is it judged here, when the webhook judges it before it is stored?
//   The webhook may be away. What it would have refused never reaches a member: flags that etcd does not take would cost the first one a
//   restart for nothing, and a template that touches what is the operator's own could cost data.

/**
 * Why the spec cannot be carried out, whatever the members run: sentences that name the field, what it is and what it may be.
 * @param version the release that members would run @param cluster its name
 */
export function whyNotSpec(
  { etcd, tls, podTemplate }: Pick<EtcdClusterSpec, "etcd" | "podTemplate"> & { readonly tls?: object | undefined },
  version: string,
  cluster: string,
): readonly string[] {
  const flags = whyNotFlags(etcd?.extraArgs ?? {}, version).map((why) => `spec.etcd.extraArgs: ${why}`);
  return [...flags, ...whyNotTemplate(podTemplate, cluster, tls !== undefined)];
}
