import { type Observed, present } from "#base/observed.ts";
import type { ClusterSnapshot, SeenCertificate, SeenCertificates } from "#cluster/snapshot.ts";

/** The snapshot after only time has passed. @param byMs how much, in milliseconds, 0 or more */
export function aged(snapshot: ClusterSnapshot, byMs: number): ClusterSnapshot {
  const { certificates, takenAtMs } = snapshot;
  const later = { ...snapshot, takenAtMs: takenAtMs + byMs };
  return certificates === undefined ? later : { ...later, certificates: agedCertificates(certificates, byMs) };
}

function agedCertificates(seen: SeenCertificates, byMs: number): SeenCertificates {
  const { trustMapForMs, podsForMs, previous, abandoned, bindings, requests, trustMap, refused, ...certificates } =
    seen;
  const as = {
    ...(trustMap && { trustMap }),
    ...(requests && { requests }),
    ...(refused !== undefined && { refused }),
  };
  return {
    ...as,
    ...allAged(certificates, byMs),
    ...(previous && { previous: allAged(previous, byMs) }),
    ...(abandoned && { abandoned: allAged(abandoned, byMs) }),
    ...(bindings && { bindings: bindings.map((each) => ({ ...each, knownForMs: each.knownForMs + byMs })) }),
    ...(trustMapForMs !== undefined && { trustMapForMs: trustMapForMs + byMs }),
    ...(podsForMs && { podsForMs: new Map([...podsForMs].map(([name, ms]) => [name, ms + byMs])) }),
  };
}

function allAged<What extends string>(
  all: { readonly [what in What]?: Observed<SeenCertificate> | undefined },
  byMs: number,
): { readonly [what in What]?: Observed<SeenCertificate> } {
  const each = Object.entries(all) as [What, Observed<SeenCertificate> | undefined][];
  return Object.fromEntries(
    each.flatMap(([what, seen]) => (seen === undefined ? [] : [[what, agedCertificate(seen, byMs)]])),
  ) as { readonly [what in What]?: Observed<SeenCertificate> };
}

function agedCertificate(seen: Observed<SeenCertificate>, byMs: number): Observed<SeenCertificate> {
  if (seen.is !== "present") return seen;
  const { knownForMs, signerForMs } = seen.value;
  return present({ ...seen.value, knownForMs: knownForMs + byMs, signerForMs: signerForMs + byMs });
}
