import { AgentError } from "./error.ts";
import { type AgentTask, TASK_VARIABLE } from "./task.ts";
import { taskSchema } from "./task-schema.ts";

/** @throws AgentError BadTask naming the field */
export function readTask(text: string | undefined): AgentTask {
  if (text === undefined) throw new AgentError("BadTask", `${TASK_VARIABLE} is not set; it must be a task as JSON`);
  const read = taskSchema.safeParse(parsed(text));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new AgentError("BadTask", `${TASK_VARIABLE} is not right: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  // The schema has nothing that is undefined: what is not there is left out by JSON.
  return read.data as AgentTask;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new AgentError("BadTask", `${TASK_VARIABLE} is no JSON`, { cause: thrown });
  }
}
