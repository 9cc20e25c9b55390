import { DEFAULTS } from "#api/conversion.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { A_RELEASE, RELEASES } from "#api/release.ts";
import { fieldsOf, whyNotShape } from "#api/shape.ts";
import { providerOf, type Side } from "#api/tls.ts";
import { ETCD_CLUSTERS, type EtcdCluster, type EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { isMap, record, told } from "#base/json.ts";

// How does one ask what an edit would cause?
//   kubectl annotate etcdcluster my-etcd etcd.improbable.io/dry-run='{"replicas":5,"version":"3.7.3"}'
//   The value is what `kubectl patch --type=merge` would be given for spec: null takes a field away. Nothing of it is carried out.
// What is judged here?
//   What needs no API server: the shape, the release, and what is fixed. The other rules of the schema are asked by
//   `kubectl patch --dry-run=server` with the same patch.

/** The edit that is to be explained: the spec as it would be, or why it cannot be one, as a sentence for people. */
export type Edit =
  | { readonly is: "edit"; readonly spec: EtcdClusterSpec }
  | { readonly is: "refused"; readonly why: string };

/** Levels that are merged. No shape knows as many, so what is deeper is refused; and the stack ends somewhere. */
const MAX_DEPTH = 64;

/** What the annotation asks for; `undefined` without one. Takes any text, and never throws. */
export function editIn({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">): Edit | undefined {
  const text = metadata.annotations?.[DRY_RUN_ANNOTATION];
  if (text === undefined) return undefined;
  const patch = patchIn(text);
  if (patch === undefined) {
    return refused(
      `it is ${told(text)}; it must be a JSON object, a merge patch of spec such as {"replicas":5,"version":"3.7.3"}`,
    );
  }
  const known = fieldsOf("EtcdCluster");
  const stranger = Object.keys(patch).find((field) => !known.includes(field));
  if (stranger !== undefined)
    return refused(`it names ${told(stranger)}; what it names must be a field of spec: ${known.join(", ")}`);
  const edited = withDefaults(record(merged(spec, patch, 0)));
  const why = whyNotEdit(edited, spec);
  return why === undefined ? { is: "edit", spec: edited as EtcdClusterSpec } : refused(`with it, ${why}`);
}

function refused(why: string): Edit {
  return { is: "refused", why };
}

/** A merge patch of a spec; `undefined` when it is no JSON object. */
export function patchIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : undefined;
  } catch {
    return undefined; // whoever asks says what it must be
  }
}

/** https://www.rfc-editor.org/rfc/rfc7386 */
export function merged(target: unknown, patch: unknown, depth = 0): unknown {
  if (!isMap(patch) || depth > MAX_DEPTH) return patch;
  const before = isMap(target) ? target : {};
  const kept = Object.entries(before).filter(([key]) => !Object.hasOwn(patch, key));
  const given = Object.entries(patch).filter(([, value]) => value !== null);
  const after = given.map(([key, value]) => {
    const own = Object.hasOwn(before, key) ? before[key] : undefined;
    return [key, merged(own, value, depth + 1)] as const;
  });
  return Object.fromEntries([...kept, ...after]);
}

/** What the API server fills in where the patch has taken something away. The release is no such thing: it must be named. */
function withDefaults(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const filled = Object.entries({ podTemplate: {}, ...DEFAULTS.EtcdCluster }).map(([field, fallback]) => {
    const own = Object.hasOwn(spec, field) ? spec[field] : fallback;
    return [field, isMap(own) && isMap(fallback) ? { ...fallback, ...own } : own] as const;
  });
  return { ...spec, ...Object.fromEntries(filled) };
}

function whyNotEdit(edited: Readonly<Record<string, unknown>>, before: EtcdClusterSpec): string | undefined {
  const why = whyNotShape(edited, ETCD_CLUSTERS.kind);
  if (why !== undefined) return why;
  if (!new RegExp(RELEASES).test(String(edited.version)))
    return `spec.version is ${told(edited.version)}; it must be ${A_RELEASE}`;
  if (!isSameData(edited.storage, before.storage)) return "spec.storage differs; it must stay as it is after creation";
  return whyTlsSwitched(edited, before);
}

/** What the schema says of it, in which a rule in CEL compares the two. */
function whyTlsSwitched(edited: Pick<EtcdClusterSpec, "tls">, before: EtcdClusterSpec): string | undefined {
  const sides: readonly Side[] = ["peer", "client"];
  const lost = sides.find((each) => edited.tls === undefined && providerOf(before, each) !== "None");
  if (lost === undefined) return undefined;
  return `spec.tls is missing, and members have TLS (${lost}); it must be there: as it was, or with the provider None for a cluster that is to go on without`;
}
