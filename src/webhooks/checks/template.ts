import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { hasTls } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/** Each sentence begins with the field that it is about. */
const FIELD = /^((?:[^\s[]|\[[^\]]*\])+) (.*)$/s;

/** What of the pod template is not for its author to say. @param before what was there; undefined for a new cluster */
export function templateRefusals({ metadata, spec }: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const isSame = before !== undefined && isSameData(spec.podTemplate, before.spec.podTemplate);
  if (isSame && hasTls(spec) === hasTls(before.spec)) return [];
  return whyNotTemplate(spec.podTemplate, metadata.name, hasTls(spec)).map((sentence) => {
    const [, field = "spec.podTemplate", message = sentence] = FIELD.exec(sentence) ?? [];
    return { field, message };
  });
}
