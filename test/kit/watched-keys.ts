// Has a watch told all that became of some keys?
//   etcd counts the writes of a key: its version is 1 with the first one, and one more with each. A watch that has told all of them told 1, 2, 3 and
//   so on, whichever writes were acknowledged, and one that tells something twice shows as well.

/** One write, as a watch tells it. */
export interface WatchedWrite {
  readonly key: string;
  readonly value: string;
  /** How often the key was written by then. */
  readonly version: number;
  readonly revision: number;
}

/**
 * What a watch has not told of these keys, or not in order; none is expected. They are never deleted.
 * @param told in the order of being told
 * @param versions of each key, as they are found in the end
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
    if (version !== before + 1) missed.push(`version ${version} of ${key} was told after version ${before}`);
    if (revision <= lastRevision) missed.push(`revision ${revision} was told after revision ${lastRevision}`);
    last.set(key, version);
    lastRevision = Math.max(lastRevision, revision);
  }
  for (const [key, version] of versions)
    if (last.get(key) !== version) missed.push(`${key} is at version ${version}, and ${last.get(key) ?? 0} was told`);
  return missed;
}
