// A call as a person types it, to ask what rules would make of it. Pure.

export interface TypedCall {
  toolName: string;
  input: unknown;
}

/** `Edit {"file_path": "a.rs"}` is a call of that tool; everything else is a command. */
export function typedCall(text: string): TypedCall {
  const [, toolName, json] = /^([A-Za-z_][\w.-]*)\s+(\{[\s\S]*\})\s*$/.exec(text.trim()) ?? [];
  if (toolName && json) {
    try {
      return { toolName, input: JSON.parse(json) };
    } catch {
      // A command that happens to have braces.
    }
  }
  return { toolName: "Bash", input: { command: text.trim() } };
}
