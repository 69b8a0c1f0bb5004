import { type ReactNode, useId } from "react";
import type { Field, TextFormat } from "../api/generated";
import { Prose } from "../text/Prose";
import { Shown } from "../text/Shown";
import { brief } from "../text/visible";
import { INPUT } from "../ui/inputs";
import { boundsOf, type FieldValue } from "./answers";

interface Props {
  field: Field;
  value: FieldValue;
  error: string | null;
  disabled: boolean;
  /** In the large view a long text gets room. */
  large: boolean;
  onChange: (value: FieldValue) => void;
}

/** One field with its label, what it is for, and what is wrong with it. */
export function FieldRow(props: Props) {
  const { field, error } = props;
  const id = useId();
  const about = [field.description, boundsOf(field)].filter(Boolean).join(" · ");
  const notes = (
    <>
      {about && (
        <div id={`${id}-about`} className="text-xs wrap-anywhere text-ink-2">
          <Prose text={about} />
        </div>
      )}
    </>
  );
  const wrong = (
    <p id={`${id}-error`} className="text-xs text-denied empty:hidden">
      {error && <Shown text={error} />}
    </p>
  );
  const label = (
    <>
      <Prose text={field.label} />
      {field.required && <span className="text-xs font-normal text-ink-2"> required</span>}
    </>
  );
  const described = `${id}-about ${id}-error`;
  if (field.type === "radio" || field.type === "multiselect") {
    return (
      <fieldset data-field={field.id} className="grid min-w-0 content-start gap-1" aria-describedby={described}>
        <legend className="float-left font-medium wrap-anywhere">{label}</legend>
        {notes}
        <Options {...props} field={field} id={id} />
        {wrong}
      </fieldset>
    );
  }
  return (
    <div
      data-field={field.id}
      className={`grid content-start gap-1 ${field.type === "textarea" ? "col-span-full" : ""}`}
    >
      {field.type === "checkbox" ? (
        <label className="flex min-h-9 items-center gap-2 font-medium max-wide:min-h-11">
          <input
            type="checkbox"
            className="size-4 shrink-0"
            checked={props.value === true}
            disabled={props.disabled}
            aria-describedby={described}
            onChange={(event) => props.onChange(event.target.checked)}
          />
          <span className="min-w-0 wrap-anywhere">{label}</span>
        </label>
      ) : (
        <label htmlFor={id} className="font-medium wrap-anywhere">
          {label}
        </label>
      )}
      {notes}
      {field.type !== "checkbox" && <Box {...props} id={id} described={described} />}
      {wrong}
    </div>
  );
}

type Listed = Extract<Field, { type: "radio" | "multiselect" }>;

function Options({ field, value, disabled, error, onChange, id }: Props & { field: Listed; id: string }) {
  const isMany = field.type === "multiselect";
  const chosen = Array.isArray(value) ? value : [String(value)];
  const press = (one: string, on: boolean) => {
    if (!isMany) return onChange(one);
    // In the order they are offered.
    onChange(
      field.options.map((option) => option.value).filter((other) => (other === one ? on : chosen.includes(other))),
    );
  };
  return (
    <div>
      {field.options.map((option) => (
        <label
          key={option.value}
          className="tag -mx-2 flex min-h-9 items-center gap-2 px-2 py-1 hover:bg-sunken has-checked:bg-sunken max-wide:min-h-11"
        >
          <input
            type={isMany ? "checkbox" : "radio"}
            name={id}
            className="size-4 shrink-0"
            checked={chosen.includes(option.value)}
            disabled={disabled}
            aria-invalid={error !== null || undefined}
            onChange={(event) => press(option.value, event.target.checked)}
          />
          <span className="min-w-0 wrap-anywhere">
            <Prose text={option.label} />
          </span>
        </label>
      ))}
    </div>
  );
}

/** Bounds are said beside it; the server is the one that checks them, so that what is typed is never cut. */
function Box({
  field,
  value,
  disabled,
  error,
  large,
  onChange,
  id,
  described,
}: Props & { id: string; described: string }): ReactNode {
  const text = typeof value === "string" ? value : "";
  const common = {
    id,
    value: text,
    disabled,
    required: field.required,
    "aria-describedby": described,
    "aria-invalid": error !== null || undefined,
    className: INPUT,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  switch (field.type) {
    case "textarea":
      return (
        <textarea
          {...common}
          rows={large ? 16 : 3}
          className={`${INPUT} field-sizing-content max-h-[50dvh] min-h-20 resize-y`}
        />
      );
    case "number":
      return <input {...common} type="text" inputMode={field.integer ? "numeric" : "decimal"} autoComplete="off" />;
    case "date":
      return <input {...common} type="date" min={field.min ?? undefined} max={field.max ?? undefined} />;
    case "secret":
      return <input {...common} type="password" autoComplete="new-password" />;
    case "select":
      return (
        <select {...common}>
          <option value="">Choose…</option>
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {brief(option.label)}
            </option>
          ))}
        </select>
      );
    case "text":
      return <input {...common} type="text" inputMode={keyboard(field.format)} autoComplete="off" />;
    default:
      return <input {...common} type="text" autoComplete="off" />;
  }
}

/** Which keys a phone shows. */
function keyboard(format: TextFormat | null | undefined): "email" | "url" | "text" {
  if (format === "email") return "email";
  return format === "uri" ? "url" : "text";
}
