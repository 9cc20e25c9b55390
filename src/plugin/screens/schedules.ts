import { agoText, clockText } from "../age.ts";
import { at, conditionOf, nameOf, textAt, type Values } from "../fields.ts";
import { type Line, type Piece, table } from "../lines.ts";

/** A line for each EtcdBackupSchedule. */
export function schedulesScreen(schedules: readonly Values[], nowMs: number): readonly Line[] {
  const titles = ["NAME", "SCHEDULE", "LAST GOOD", "VERIFIED", "NEXT", "ARCHIVE", "STATUS"];
  const rows = schedules.map((each): Line => {
    const ready = conditionOf(each, "Ready");
    const archive = at(each, "status", "archive");
    return [
      nameOf(each),
      textAt(each, "spec", "schedule") + (at(each, "spec", "suspend") === true ? " (suspended)" : ""),
      age(textAt(each, "status", "lastSuccessful", "creationTime"), nowMs),
      age(textAt(each, "status", "lastVerified", "creationTime"), nowMs),
      clockText(at(each, "status", "nextScheduleTime"), nowMs),
      archive === undefined ? "" : `${agoText(at(archive, "time"), nowMs)} behind`,
      { text: ready?.reason ?? "", tone: ready?.status === "False" ? "bad" : "good" },
    ];
  });
  return table([titles.map((text): Piece => ({ text, tone: "dim" })), ...rows]);
}

function age(time: string, nowMs: number): string {
  return time === "" ? "none" : `${agoText(time, nowMs)} ago`;
}
