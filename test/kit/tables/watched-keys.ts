// Has a watch reported every write of some keys?
//
// etcd counts the writes of a key: its version is 1 after the first write, and grows by one with each. A complete watch
// reports versions 1, 2, 3 and so on, including those of unacknowledged writes. A duplicate report shows, too.

/** One write, as a watch reports it. */
export interface WatchedWrite {
  readonly key: string;
  readonly value: string;
  /** Number of writes of the key up to this one. */
  readonly version: number;
  readonly revision: number;
}

/**
 * Writes of these keys that a watch did not report, or not in order. The keys are never deleted.
 * @param told in the order of the reports
 * @param versions the final version of each key
 */
export function missedIn(
  told: readonly WatchedWrite[],
  versions: ReadonlyMap<string, number> = new Map(),
): readonly string[] {
  const missed: string[] = [];
  const last = new Map<string, number>();
  let lastRevision = 0;
  for (const { key, version, revision } of told) {
    const before = last.get(key) ?? 0;
    if (version !== before + 1) missed.push(`version ${version} of ${key} was reported after version ${before}`);
    if (revision <= lastRevision) missed.push(`revision ${revision} was reported after revision ${lastRevision}`);
    last.set(key, version);
    lastRevision = Math.max(lastRevision, revision);
  }
  for (const [key, version] of versions)
    if (last.get(key) !== version)
      missed.push(`${key} is at version ${version}, and ${last.get(key) ?? 0} was reported`);
  return missed;
}
