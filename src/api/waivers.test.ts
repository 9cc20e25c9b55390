import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WAIVE_ANNOTATION } from "#api/names.ts";
import { WAIVABLE, waiversIn } from "#api/waivers.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { cluster } from "#kit/snapshots/cluster.ts";

function read(text: string) {
  return waiversIn(cluster({ annotations: { [WAIVE_ANNOTATION]: text } }).cluster, NOON_MS - 60_000);
}

const NOON = "2026-11-22T12:00:00Z";
const NOON_MS = Date.UTC(2026, 10, 22, 12);

test("waivers: an EtcdCluster without the annotation has none", () => {
  expect(waiversIn(cluster().cluster, NOON_MS)).toEqual({ waivers: [], refused: [] });
});

test("waivers: each has a name and an end, and several are separated by commas", () => {
  const waivers = [
    { check: "MembersReady", until: NOON, untilMs: NOON_MS },
    { check: "EvictionsHeldBack", until: "2026-11-22T13:00:00.5+01:00", untilMs: NOON_MS + 500 },
  ];
  const text = ` MembersReady  until ${NOON} ,EvictionsHeldBack until 2026-11-22T13:00:00.5+01:00,`;
  expect(read(text)).toEqual({ waivers, refused: [] });
});

describe("waivers: an invalid one is refused with a message", () => {
  const names = "only these can: MembersHealthy, MembersReady, MembersCaughtUp, BackupFirst, EvictionsHeldBack";
  const end =
    "has no end; it must be MembersReady until a time with a zone, such as MembersReady until 2026-11-22T12:00:00Z";
  const cases: readonly (readonly [string, string])[] = [
    [
      `keep-quorum until ${NOON}`,
      `"keep-quorum" cannot be waived; ${names} (never a check that protects data, quorum or membership)`,
    ],
    [`toString until ${NOON}`, `"toString" cannot be waived; ${names}`],
    ["MembersReady", `"MembersReady" ${end}`],
    ["MembersReady until", `"MembersReady until" ${end}`],
    [`MembersReady ${NOON}`, end],
    [`MembersReady till ${NOON}`, end],
    [`MembersReady until ${NOON} please`, end],
    ["MembersReady until 2026-11-22", end],
    ["MembersReady until 2026-11-22T12:00:00", end],
    ["MembersReady until 2026-13-22T12:00:00Z", end],
    ["MembersReady until tomorrow", end],
  ];
  test.each(cases)("%s", (text, why) => {
    const { waivers, refused } = read(text);
    expect([waivers.length, refused.length]).toEqual([0, 1]);
    expect(refused[0]).toContain(why);
  });

  test("a waiver for more than 7 days is refused", () => {
    const given = cluster({ annotations: { [WAIVE_ANNOTATION]: `MembersReady until ${NOON}` } }).cluster;
    const week = 7 * 24 * 3_600_000;
    expect(waiversIn(given, NOON_MS - week).waivers).toHaveLength(1);
    expect(waiversIn(given, NOON_MS - week - 1)).toEqual({
      waivers: [],
      refused: [`"MembersReady until ${NOON}" would hold for too long; it must end within 7 days`],
    });
  });

  test("a refused waiver does not affect others", () => {
    const { waivers, refused } = read(`version-path until ${NOON}, MembersReady until ${NOON}`);
    expect([waivers.length, refused.length]).toEqual([1, 1]);
  });

  test("no guard can be waived", () => {
    const { waivers, refused } = read(CLUSTER_GUARDS.map(({ name }) => `${name} until ${NOON}`).join());
    expect([waivers.length, refused.length]).toEqual([0, CLUSTER_GUARDS.length]);
  });
});

test("waivers: each part of any annotation is either a waiver or refused", () => {
  const word = fc.constantFrom(...Object.keys(WAIVABLE), "until", NOON, "x", " ", ",");
  fc.assert(
    fc.property(
      fc.array(word).map((words) => words.join(" ")),
      (text) => {
        const { waivers, refused } = read(text);
        const parts = text.split(",").filter((part) => part.trim() !== "");
        expect(waivers.length + refused.length).toBe(parts.length);
      },
    ),
  );
});

test("waivers: an annotation of more than 4096 characters is ignored with one message", () => {
  const one = `MembersReady until ${NOON}`;
  const padded = (length: number) => `${one},${" ".repeat(length - one.length - 1)}`;
  expect(read(padded(4_096)).waivers).toHaveLength(1);
  const why = "it has 4097 characters, and none of it counts; it may have at most 4096";
  expect(read(padded(4_097))).toEqual({ waivers: [], refused: [why] });
  expect(read("a,".repeat(128_000)).refused).toHaveLength(1);
});
