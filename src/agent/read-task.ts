import { AgentError } from "./error.ts";
import { type AgentTask, TASK_VARIABLE } from "./task.ts";
import { taskSchema } from "./task-schema.ts";

/** @throws AgentError BadTask naming the field */
export function readTask(text: string | undefined): AgentTask {
  if (text === undefined) throw new AgentError("BadTask", `${TASK_VARIABLE} is not set; it must be a task as JSON`);
  const read = taskSchema.safeParse(parsed(text));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new AgentError("BadTask", `${TASK_VARIABLE} is invalid: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  // JSON has no undefined values, so the schema's optional fields fit the type.
  return read.data as AgentTask;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new AgentError("BadTask", `${TASK_VARIABLE} is not JSON`, { cause: thrown });
  }
}
