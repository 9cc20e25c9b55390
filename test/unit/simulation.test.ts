import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { PEER_RULES } from "#peer/plan.ts";
import { campaign, excusedTooOften, inWords, together } from "../simulation/campaign.ts";
import { tell } from "../simulation/history.ts";
import { profileOf } from "../simulation/profile.ts";
import { shrink } from "../simulation/shrink.ts";
import { campaigns } from "../simulation/side-by-side.ts";
import { story } from "../simulation/story.ts";

/** Enough for every rule to decide many times, and few enough for every run of the tests. */
const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 2_000);
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 1);
const { SIMULATION_SEED } = process.env;

describe.runIf(SIMULATION_SEED !== undefined)("one simulated history", () => {
  test(`of seed ${SIMULATION_SEED}`, { timeout: 3_600_000 }, async () => {
    const told = await tell(profileOf(Number(SIMULATION_SEED)));
    console.log(await story(told));
    assert.equal(told.violation, undefined);
  });
});

describe.runIf(SIMULATION_SEED === undefined)("simulated histories", () => {
  test("break no promise", { timeout: 3_600_000 }, async () => {
    const report = together(await campaigns(HISTORIES, FIRST_SEED));
    console.log(inWords(report));
    if (report.broken !== undefined) {
      const { broken } = report;
      const words = await story(broken);
      const smaller = await shrink(broken);
      const again = smaller === broken ? "" : `\n\nThe same in fewer steps:\n${await story(smaller)}`;
      assert.fail(
        `seed ${broken.profile.seed}; replay it with SIMULATION_SEED=${broken.profile.seed}\n${words}${again}`,
      );
    }
    assert.deepEqual(excusedTooOften(report), [], "what is not asked is bounded: see MOST_EXCUSED");
    const silent = (room: string, rules: readonly { name: string }[]) =>
      rules.map(({ name }) => `${room}: ${name}`).filter((name) => !report.decided.has(name));
    // A rule that settles leaves no name.
    const never = [...silent("cluster", CLUSTER_RULES), ...silent("peer", PEER_RULES)].filter(
      // Nobody in these histories has a schedule of backups.
      (name) => !name.endsWith("deleting") && !name.endsWith("backup-first") && !name.endsWith("pod-monitor"),
    );
    if (HISTORIES >= 10_000) assert.deepEqual(never, [], "every rule decides in some history");
  });

  test("lose no quorum by evictions that honour the budget, whatever else is going on", {
    timeout: 600_000,
  }, async () => {
    const often = { drain: 8, editReplicas: 2 };
    for (const leaning of [{ often: { drain: 8 } }, { often }]) {
      const report = await campaign(40, FIRST_SEED, {
        ...leaning,
        onlyThat: true,
        startsFormed: true,
        obstacle: "none",
      });
      assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
    }
  });

  test("are the same when they are told again", async () => {
    for (const seed of [3, 14, 15]) {
      const [first, second] = [await linesOf(seed), await linesOf(seed)];
      assert.ok(first.length > 20);
      assert.deepEqual(first, second);
    }
  });
});

async function linesOf(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  await tell(profileOf(seed), { trace: (line) => lines.push(line) });
  return lines;
}
