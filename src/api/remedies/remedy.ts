/** What happens, and what a person does, while a condition has a reason. */
export interface Remedy {
  /** What the operator does by itself. */
  readonly itself: string;
  /** What a person does. "Nothing" when waiting is enough. */
  readonly you: string;
  /** Section with the steps, below docs, such as "troubleshooting.md#a-database-that-is-full". */
  readonly see?: string;
}

/** Reasons of an object at which nothing is wrong have no remedy. */
export type Care = Remedy | "well";

export function remedy(itself: string, you: string, see?: string): Remedy {
  return { itself, you, ...(see === undefined ? {} : { see }) };
}

/** A state that ends by itself. @param itself what happens until then */
export function passing(itself: string): Remedy {
  return remedy(itself, "Nothing");
}

/** Remedies for the reasons that several kinds have. */
export const SHARED = {
  Waiting: remedy(
    "The operator looks again within a minute, and at each change.",
    "Read the message. Its rule or guard is explained in the list of rules.",
    "reference/rules.md",
  ),
  StepRefused: remedy(
    "The step is retried at growing intervals, up to a minute; everything else continues.",
    "Read the message: raise the quota, correct the policy, or grant the right that it names.",
    "troubleshooting.md#something-that-is-refused",
  ),
  NameTaken: remedy(
    "The operator never takes the object over. It continues when the name is free.",
    "Delete the object that the message names if nothing needs it. Otherwise create this object again under another name.",
  ),
  InternalError: remedy(
    "The operator retries at growing intervals and changes nothing.",
    "Restart the operator. If the reason returns, report the message and the operator's log as a defect.",
  ),
  ObjectTooLarge: remedy(
    "Members keep running, and the operator does not manage the object.",
    "Make the object that the message names smaller, such as its annotations.",
    "limits.md#kubernetes-and-installation",
  ),
  SpecRefused: remedy("Nothing is made from this spec.", "Correct the field that the message names."),
  PodPending: remedy(
    "The operator waits for the pod; Kubernetes tries to start it again.",
    "Read the message: give the pod a node, a volume, an image or a Secret.",
  ),
} as const;
