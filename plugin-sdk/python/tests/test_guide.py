"""The blocks of the pages in docs/guide, and of README.md."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "../../docs/guide"


class Guide(unittest.TestCase):
    def run_blocks(self, file: Path) -> int:
        blocks = re.findall(r"```python\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL)
        for block in blocks:
            module: dict[str, object] = {"__name__": "block"}
            exec(compile(block, file.name, "exec", dont_inherit=True), module)
        return len(blocks)

    @unittest.skipUnless(GUIDE.is_dir(), "the package stands alone")
    def test_blocks_of_the_guide(self) -> None:
        blocks = 0
        for page in sorted(GUIDE.glob("*.md")):
            with self.subTest(page.name):
                blocks += self.run_blocks(page)
        self.assertGreater(blocks, 12)

    def test_block_of_the_readme(self) -> None:
        first, second = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        module: dict[str, object] = {"__name__": "block"}
        exec(first + second.replace("from plugin import plugin\n", "") + "\ntest_counts_visits()\n", module)


if __name__ == "__main__":
    unittest.main()
