import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { isMap, record } from "#base/json.ts";

// Why are two zones no better than one for a quorum?
//   One of them has half of the members or more, and its loss loses the quorum; and there are two zones that may fail.
// Why is only the template checked? The operator has no right to read nodes, so it does not know the zones.

type Values = Readonly<Record<string, unknown>>;

/** Failure domains, by node label. */
const PLACES: readonly (readonly [label: string, called: string])[] = [
  ["topology.kubernetes.io/zone", "zones"],
  ["kubernetes.io/hostname", "nodes"],
];

/** Warns of members restricted to two zones or nodes. @param before the stored spec; undefined for a new cluster */
export function topologyWarnings(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  if (spec.replicas < 2) return [];
  return PLACES.flatMap(([label, called]) => {
    const places = placesIn(spec, label);
    const isAsBefore = before !== undefined && before.replicas >= 2 && isSameData(places, placesIn(before, label));
    if (isAsBefore || places?.length !== 2) return [];
    return [
      `spec.podTemplate.spec restricts members to two ${called}, ${places.join(" and ")}: the loss of one of them may lose the quorum; use three ${called}`,
    ];
  });
}

/** The values of the label that the template permits, sorted; undefined when it permits any. */
function placesIn({ podTemplate }: EtcdClusterSpec, label: string): readonly string[] | undefined {
  const { nodeSelector, affinity } = record(podTemplate.spec);
  const selected = record(nodeSelector)[label];
  const required = record(record(affinity).nodeAffinity).requiredDuringSchedulingIgnoredDuringExecution;
  const terms = itemsIn(record(required).nodeSelectorTerms).map((term) =>
    common(itemsIn(term.matchExpressions).map((each) => valuesIn(each, label))),
  );
  const all = common([
    ...(typeof selected === "string" ? [[selected]] : []),
    // A node has to match only one term.
    terms.length === 0 || terms.includes(undefined) ? undefined : terms.flatMap((each) => each ?? []),
  ]);
  return all === undefined ? undefined : [...new Set(all)].sort();
}

function valuesIn({ key, operator, values }: Values, label: string): readonly string[] | undefined {
  if (key !== label || operator !== "In" || !Array.isArray(values)) return undefined;
  return values.map(String);
}

/** The intersection of the lists; undefined stands for no restriction. */
function common(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  return lists.reduce(
    (all, list) => (all === undefined ? list : all.filter((each) => list?.includes(each) ?? true)),
    undefined,
  );
}

function itemsIn(list: unknown): readonly Values[] {
  return Array.isArray(list) ? list.filter(isMap) : [];
}
