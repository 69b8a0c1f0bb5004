import { Link } from "@tanstack/react-router";
import { Account } from "./Account";

/** Who is here, and how this screen behaves. */
export function YouPage() {
  return (
    <main className="h-full overflow-y-auto bg-surface px-10 pb-6 max-wide:px-4">
      <h1 className="pt-4 pb-3 text-lg font-semibold">You</h1>
      <div className="max-w-[560px]">
        <Account />
        <Link to="/rules" className="flex min-h-11 w-fit items-center underline underline-offset-2 wide:hidden">
          Rules
        </Link>
      </div>
    </main>
  );
}
