import { useMutation } from "@tanstack/react-query";
import { gateway } from "../api/gateway";
import type { LeftOut } from "../api/generated";
import { Shown } from "../text/Shown";
import { Button } from "../ui/Button";

/** The agent started without its folder's own files: which, and the way to trust them as they are. */
export function LeftOutNotice({ leftOut, agent, mayTrust }: { leftOut: LeftOut; agent: string; mayTrust: boolean }) {
  const { digest, folder } = leftOut;
  const trust = useMutation({ mutationFn: (digest: string) => gateway.trustFolder({ agent, folder, digest }) });
  return (
    <details className="railed tone-expired bg-expired-bg border-b border-line px-6 py-1.5 text-xs max-wide:px-4">
      <summary className="cursor-pointer">
        {trust.isSuccess
          ? "Trusted as they are now. The next start of an agent here has them."
          : "Started without this folder's own settings, hooks and servers."}
      </summary>
      <p className="py-1 wrap-anywhere">
        <Shown text={leftOut.message} />
      </p>
      <ul className="max-h-32 overflow-y-auto pb-1">
        {[...leftOut.files, ...(leftOut.instructions ?? [])].map((file) => (
          <li key={file} className="font-mono wrap-anywhere">
            <Shown text={file} />
          </li>
        ))}
      </ul>
      {digest && mayTrust && !trust.isSuccess && (
        <Button size="small" disabled={trust.isPending} onClick={() => trust.mutate(digest)}>
          Trust these files as they are now
        </Button>
      )}
      <p role="alert" className="text-denied empty:hidden">
        {trust.error?.message}
      </p>
    </details>
  );
}
