import type { StoryName } from "./stories/all.ts";

/**
 * Known defects of the operator, by the story that shows them (stories/). A story is expected to fail as long as its
 * name is listed here. Remove the line when the defect is fixed.
 */
export const FAILING: Readonly<Partial<Record<StoryName, string>>> = {};
