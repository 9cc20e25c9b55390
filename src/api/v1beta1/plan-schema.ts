import { z } from "zod";
import { ATOMIC } from "#api/common-schema.ts";

export const refusalSchema = z.object({
  rule: z.string().describe("Reason of the event or condition with which the edit would be refused."),
  message: z.string().describe("What is refused or in the way, and why."),
});

const stepSchema = z.object({
  rule: z.string().describe("What causes the step: the reason of its event."),
  step: z
    .string()
    .describe("The step, such as RestartPod, as in the action of its event: one write to Kubernetes or etcd."),
  member: z.string().optional().describe("The member that the step is about, if any."),
  message: z.string().describe("The step in words, as in its event."),
});

export const planSchema = z
  .object({
    edit: z.string().describe("The edit from the annotation; of a long one the first 1,000 characters."),
    outcome: z
      .enum(["Done", "Waits", "Refused", "Unforeseen"])
      .describe(
        "Done: after the steps everything is as the edit asks for, except what is refused. Waits: after the steps the operator waits; the message states for what. Refused: no part of the edit would be carried out. Unforeseen: what follows the steps cannot be predicted, or not yet.",
      ),
    message: z.string().describe("The outcome in words."),
    refused: z.array(refusalSchema).meta(ATOMIC).optional().describe("What would not be carried out, and why."),
    restarts: z
      .array(z.string())
      .meta(ATOMIC)
      .optional()
      .describe(
        "The members that the operator would restart, in this order; a member that restarts twice is listed twice.",
      ),
    steps: z
      .array(stepSchema)
      .meta(ATOMIC)
      .optional()
      .describe("What the operator would do, in this order, if nothing fails and there is no further edit."),
  })
  .describe(
    "What an edit of the spec would cause, without making it. The annotation etcd.improbable.io/dry-run holds the edit, as a JSON merge patch of spec. The answer is updated every half minute and when the edit or the spec changes. It is removed with the annotation.",
  );
