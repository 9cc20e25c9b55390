import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLUSTER_LABEL,
  QUARANTINE_LABEL,
  QUARANTINE_REASON_ANNOTATION,
  QUARANTINE_TIME_ANNOTATION,
  RESTORED_FROM,
} from "#api/names.ts";
import { agoText } from "../age.ts";
import { annotationOf, at, nameOf, namespaceOf, textAt, type Values } from "../fields.ts";
import { type Line, type Piece, table } from "../lines.ts";

/**
 * Claims with data that no cluster uses: no EtcdCluster has the name, or they were quarantined.
 * @param clusters read after the claims: a cluster is created before its claims, and so none of them seems unused
 */
export function orphansIn(claims: readonly Values[], clusters: readonly Values[]): readonly Values[] {
  const living = new Set(clusters.map((each) => `${namespaceOf(each)}/${nameOf(each)}`));
  return claims.filter((claim) => {
    const cluster = textAt(claim, "metadata", "labels", CLUSTER_LABEL);
    return cluster !== "" && (isQuarantined(claim) || !living.has(`${namespaceOf(claim)}/${cluster}`));
  });
}

export function isQuarantined(claim: Values): boolean {
  return textAt(claim, "metadata", "labels", QUARANTINE_LABEL) === "true";
}

/** A line for each claim. A deleted cluster can be made again from those that are not quarantined. */
export function orphansScreen(claims: readonly Values[], nowMs: number): readonly Line[] {
  const titles = ["NAMESPACE", "CLAIM", "CLUSTER", "SIZE", "AGE", "CLUSTER ID", "MEMBER ID", "WHY"];
  const rows = claims.map(
    (claim): Line => [
      namespaceOf(claim),
      nameOf(claim),
      textAt(claim, "metadata", "labels", CLUSTER_LABEL),
      textAt(claim, "status", "capacity", "storage") || textAt(claim, "spec", "resources", "requests", "storage"),
      agoText(at(claim, "metadata", "creationTimestamp"), nowMs),
      annotationOf(claim, CLAIM_CLUSTER_ID_ANNOTATION),
      annotationOf(claim, CLAIM_MEMBER_ID_ANNOTATION),
      whyText(claim, nowMs),
    ],
  );
  return table([titles.map((text): Piece => ({ text, tone: "dim" })), ...rows]);
}

function whyText(claim: Values, nowMs: number): string {
  const isRestored = textAt(claim, "metadata", "labels", RESTORED_FROM) !== "";
  if (!isQuarantined(claim))
    return isRestored
      ? "no EtcdCluster has this name; made by an EtcdRestore, which may still run"
      : "no EtcdCluster has this name";
  const since = agoText(annotationOf(claim, QUARANTINE_TIME_ANNOTATION), nowMs);
  const reason = annotationOf(claim, QUARANTINE_REASON_ANNOTATION);
  return ["quarantined", since === "" ? "" : `${since} ago`, reason].filter((part) => part !== "").join(", ");
}
