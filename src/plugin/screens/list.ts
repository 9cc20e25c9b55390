import { agoText } from "../age.ts";
import { at, nameOf, namespaceOf, textAt, type Values } from "../fields.ts";
import { type Line, type Piece, table } from "../lines.ts";
import { bySeverity, causeOf, stateOf } from "../verdict.ts";
import { stateCell } from "./status.ts";

interface ListOptions {
  readonly nowMs: number;
  /** Whether clusters of several namespaces are listed. */
  readonly hasNamespaces: boolean;
  /** Whether there are columns with the leader and the message. */
  readonly isWide: boolean;
}

/** A line for each cluster, the worst first, then by namespace and name. */
export function listScreen(
  clusters: readonly Values[],
  { nowMs, hasNamespaces, isWide }: ListOptions,
): readonly Line[] {
  const titles = ["NAME", "STATE", "READY", "VERSION", "STATUS", "AGE", ...(isWide ? ["LEADER", "MESSAGE"] : [])];
  const rows = [...clusters].sort(worstFirst).map((cluster): Line => {
    const cause = causeOf(cluster);
    return [
      ...(hasNamespaces ? [namespaceOf(cluster)] : []),
      nameOf(cluster),
      stateCell(stateOf(cluster)),
      textAt(cluster, "status", "readyMembers"),
      textAt(cluster, "status", "version") || textAt(cluster, "spec", "version"),
      cause?.reason ?? "",
      agoText(at(cluster, "metadata", "creationTimestamp"), nowMs),
      ...(isWide ? [textAt(cluster, "status", "leader"), cause?.message ?? ""] : []),
    ];
  });
  return table([
    [...(hasNamespaces ? ["NAMESPACE"] : []), ...titles].map((text): Piece => ({ text, tone: "dim" })),
    ...rows,
  ]);
}

function worstFirst(a: Values, b: Values): number {
  return (
    bySeverity(stateOf(a), stateOf(b)) ||
    namespaceOf(a).localeCompare(namespaceOf(b)) ||
    nameOf(a).localeCompare(nameOf(b))
  );
}
