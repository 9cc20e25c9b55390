import { lackOfPlace } from "#restore/place.ts";
import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { isStarted, lackBefore } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval while a foreign Job has the name, in milliseconds. */
const AWAIT_PLACE_RECHECK_MS = 10_000;

/** Waits while the name is not free. A cluster or a claim has already failed the restore; a Job may be deleted. */
export const awaitPlace: RestoreRule = {
  name: "await-place",
  decide(snapshot) {
    const lack = isComplete(snapshot) ? undefined : lackOfPlace(snapshot);
    return lack === undefined ? undefined : wait(lack.message, AWAIT_PLACE_RECHECK_MS, { warn: true });
  },
};

/**
 * Recheck interval for the label of the claim, which has no watch, in milliseconds. An EtcdBackup has events of its
 * own.
 */
const AWAIT_SOURCE_RECHECK_MS = 10_000;

/**
 * Waits while the EtcdBackup is running or missing, or its claim must not be mounted. The wait is limited by
 * PATIENCE_MS.
 */
export const awaitSource: RestoreRule = {
  name: "await-source",
  decide(snapshot) {
    if (isComplete(snapshot) || isStarted(snapshot)) return undefined;
    const lack = lackBefore(snapshot);
    if (lack === undefined) return undefined;
    return wait(lack.message, AWAIT_SOURCE_RECHECK_MS, { warn: lack.reason !== "BackupNotCompleted" });
  },
};

/** Waits for the flag --agent-image: the Jobs run the operator's own image. */
export const awaitImage: RestoreRule = {
  name: "await-image",
  decide(snapshot) {
    if (snapshot.agentImage !== undefined || isComplete(snapshot)) return undefined;
    const because = "the operator does not know its own image, which the Jobs run: set --agent-image";
    return wait(because, 60_000, { warn: true });
  },
};
