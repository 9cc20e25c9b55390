import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/** Each sentence begins with the field that it is about. */
const FIELD = /^((?:[^\s[]|\[[^\]]*\])+) (.*)$/s;

/** What of the pod template is not for its author to say. @param before what was there; undefined for a new cluster */
export function templateRefusals(
  { metadata, spec: { podTemplate, tls } }: EtcdCluster,
  before: EtcdCluster | undefined,
): readonly Refusal[] {
  const isSame = before !== undefined && isSameData(podTemplate, before.spec.podTemplate);
  if (isSame && (tls === undefined) === (before.spec.tls === undefined)) return [];
  return whyNotTemplate(podTemplate, metadata.name, tls !== undefined).map((sentence) => {
    const [, field = "spec.podTemplate", message = sentence] = FIELD.exec(sentence) ?? [];
    return { field, message };
  });
}
