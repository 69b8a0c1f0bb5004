import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { gateway } from "../api/gateway";
import type { SuggestedRules } from "../api/generated";
import { count } from "../interactions/words";
import { Shown } from "../text/Shown";
import { brief } from "../text/visible";
import { Button } from "../ui/Button";
import { Ticked } from "../ui/Calm";
import { RULES } from "./rulesKey";

export const SUGGESTIONS = [...RULES, "suggest"] as const;

/** Rules that would have answered what was approved again and again: with all they would allow, and a button. */
export function Suggestions({ most }: { most: number }) {
  const { data, error } = useQuery({ queryKey: SUGGESTIONS, queryFn: gateway.suggestions, staleTime: 60_000 });
  if (error)
    return (
      <p role="alert" className="text-denied">
        {error.message}
      </p>
    );
  return (
    <ul className="grid gap-3">
      {data?.suggestions.slice(0, most).map((one) => (
        <Suggestion key={one.lines.join("\n")} suggestion={one} />
      ))}
    </ul>
  );
}

function Suggestion({ suggestion: { lines, saves, reach, examples, unapproved } }: { suggestion: SuggestedRules }) {
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: async () => {
      for (const line of lines) await gateway.addRule(line);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: RULES }),
  });
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-4 gap-y-1 border-t border-line pt-3">
      <div className="grid gap-1">
        {lines.map((line) => (
          <code key={line} className="w-fit bg-block px-1.5 font-mono text-mono wrap-anywhere">
            <Shown text={line} />
          </code>
        ))}
        <p className="text-xs text-ink-2">
          Would have answered {count(saves, "ask")}.{" "}
          {reach.map((words) => (
            <span key={words}>
              <Ticked text={words} />{" "}
            </span>
          ))}
        </p>
        {unapproved.count > 0 && (
          <p className="text-xs text-denied">
            It would also have allowed {count(unapproved.count, "call")} that nobody approved.
          </p>
        )}
        {examples.length > 0 && (
          <details className="text-xs text-ink-2">
            <summary className="w-fit cursor-pointer">{count(examples.length, "example")}</summary>
            <ul className="grid gap-0.5 pt-1">
              {examples.map((call, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: examples have no other name
                <li key={at} className="truncate font-mono">
                  {brief(call.text)}
                </li>
              ))}
            </ul>
          </details>
        )}
        <p role="alert" className="text-xs text-denied empty:hidden">
          {add.error?.message}
        </p>
      </div>
      <Button size="small" disabled={add.isPending} onClick={() => add.mutate()}>
        Add {lines.length === 1 ? "this rule" : `these ${lines.length} rules`}
      </Button>
    </li>
  );
}
