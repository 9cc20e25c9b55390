import type { Course } from "./restore-course.ts";
import { phaseOf } from "./restore-course.ts";
import { CLAIMS, RESTORES, type RestoreWorld } from "./restore-world.ts";

export interface Scenario extends Course {
  readonly name: string;
  readonly end: string;
}

const deletedWhen = (is: (world: RestoreWorld) => boolean): NonNullable<Course["when"]> => [
  is,
  (world) => world.remove(RESTORES, "back"),
];
const areTold = (world: RestoreWorld, count: number) =>
  world.claims.filter(({ metadata }) => Object.keys(metadata.annotations ?? {}).length > 0).length === count;

export const SCENARIOS: readonly Scenario[] = [
  { name: "a restore", end: "Completed" },
  { name: "a restore that a cluster has requested", given: { isAsked: true }, end: "Completed" },
  { name: "a restore that fails", given: { isUnreadable: true }, end: "Failed" },
  { name: "a restore that is deleted before its pods run", when: deletedWhen(({ claims }) => claims.length === 3), end: "gone" },
  { name: "a restore that is deleted while its pods run", when: deletedWhen(({ pods }) => pods.length === 3), end: "gone" },
  { name: "a restore that is deleted when its claims are filled", when: deletedWhen(({ filled }) => filled.size === 3), end: "gone" },
  { name: "a restore that is deleted when its cluster exists", when: deletedWhen(({ cluster }) => cluster !== undefined), end: "gone" },
  { name: "a restore that is deleted when it is completed", when: deletedWhen((world) => phaseOf(world) === "Completed"), end: "gone" },
  { name: "a restore into a cluster that a person creates", when: [(world) => areTold(world, 3), (world) => world.makeCluster()], end: "Completed" },
]; // biome-ignore format: a table

/**
 * A claim with an identity is lost, and the next write is refused, so that another claim gets no identity for a while.
 */
function loseAndRefuse(world: RestoreWorld): void {
  world.remove(CLAIMS, "restored-0");
  world.faults.set(world.tries + 1, "refused");
}

/** Disturbances while claims get their identities. */
export const DISTURBED: readonly Scenario[] = [
  { name: "a restore that is deleted while claims get their identities", when: deletedWhen((world) => areTold(world, 1) || areTold(world, 2)), end: "gone" },
  { name: "a restore that fails while claims get their identities", when: [(world) => areTold(world, 1) || areTold(world, 2), (world) => loseAndRefuse(world)], end: "Failed" },
]; // biome-ignore format: a table
