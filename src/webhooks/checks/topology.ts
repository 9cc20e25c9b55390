import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { isMap, record } from "#base/json.ts";

// Why two zones are no better than one for a quorum:
//   One of them has half of the members or more, and with it the quorum is lost; and there are two that may be lost.
// Why is only the template asked? The operator has no right to read nodes, so it does not know which zones there are.

type Values = Readonly<Record<string, unknown>>;

/** Places that are lost as a whole, by the label that nodes have of them. */
const PLACES: readonly (readonly [label: string, called: string])[] = [
  ["topology.kubernetes.io/zone", "zones"],
  ["kubernetes.io/hostname", "nodes"],
];

/** What is unwise about where members may run. @param before what was wanted; undefined for a new cluster */
export function topologyWarnings(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  if (spec.replicas < 2) return [];
  return PLACES.flatMap(([label, called]) => {
    const places = placesIn(spec, label);
    const isAsBefore = before !== undefined && before.replicas >= 2 && isSameData(places, placesIn(before, label));
    if (isAsBefore || places?.length !== 2) return [];
    return [
      `spec.podTemplate.spec lets members run in two ${called} alone, ${places.join(" and ")}: with one of the two the quorum is lost; use three ${called}`,
    ];
  });
}

/** The values of the label that nodes of members may have, sorted; undefined when there may be any. */
function placesIn({ podTemplate }: EtcdClusterSpec, label: string): readonly string[] | undefined {
  const { nodeSelector, affinity } = record(podTemplate.spec);
  const selected = record(nodeSelector)[label];
  const required = record(record(affinity).nodeAffinity).requiredDuringSchedulingIgnoredDuringExecution;
  const terms = itemsIn(record(required).nodeSelectorTerms).map((term) =>
    common(itemsIn(term.matchExpressions).map((each) => valuesIn(each, label))),
  );
  const all = common([
    ...(typeof selected === "string" ? [[selected]] : []),
    // One term is enough.
    terms.length === 0 || terms.includes(undefined) ? undefined : terms.flatMap((each) => each ?? []),
  ]);
  return all === undefined ? undefined : [...new Set(all)].sort();
}

function valuesIn({ key, operator, values }: Values, label: string): readonly string[] | undefined {
  if (key !== label || operator !== "In" || !Array.isArray(values)) return undefined;
  return values.map(String);
}

/** What is in every list; undefined for one that says nothing. */
function common(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  return lists.reduce(
    (all, list) => (all === undefined ? list : all.filter((each) => list?.includes(each) ?? true)),
    undefined,
  );
}

function itemsIn(list: unknown): readonly Values[] {
  return Array.isArray(list) ? list.filter(isMap) : [];
}
