import { z } from "zod";

const refusalSchema = z.object({
  rule: z.string().describe("The rule that says so, as docs/reference/rules.md has it."),
  message: z.string().describe("What is refused or in the way, and why."),
});

const stepSchema = z.object({
  rule: z.string().describe("The rule that makes the step, as docs/reference/rules.md has it."),
  step: z.string().describe("What is done, such as restartPod: one write to Kubernetes or etcd."),
  member: z.string().optional().describe("The member that it is about, where it is about one."),
  message: z.string().describe("The same for people, as the event of the step would say it."),
});

export const planSchema = z
  .object({
    edit: z
      .string()
      .describe("The edit that is explained, as the annotation has it; of a long one its first 1,000 characters."),
    outcome: z
      .enum(["Done", "Waits", "Refused", "Unforeseen"])
      .describe(
        "Done: after the steps everything is as the edit asks for, but for what is refused. Waits: after the steps the operator waits; the message says for what. Refused: nothing of the edit would be carried out. Unforeseen: what comes after the steps cannot be told, or not yet.",
      ),
    message: z.string().describe("How it ends, for people."),
    refused: z.array(refusalSchema).optional().describe("What would not be carried out, and why."),
    restarts: z
      .array(z.string())
      .optional()
      .describe(
        "The members that the operator would restart, in this order; a member that restarts twice is there twice.",
      ),
    steps: z
      .array(stepSchema)
      .optional()
      .describe("What the operator would do, in this order, while all goes well and nobody edits anything else."),
  })
  .describe(
    "What an edit of the spec would cause, without making it: the annotation etcd.improbable.io/dry-run holds the edit, as a JSON merge patch of spec. The plan is made anew every half minute and when the edit or the spec changes, and goes when the annotation does.",
  );
