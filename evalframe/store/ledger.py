"""The seals of a store: finding, reading and adding them. Nothing here removes a seal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar, cast

from evalframe.errors import StoreConflict, StoreCorrupt
from evalframe.store import faults, layout
from evalframe.store.files import reported
from evalframe.store.places import Place
from evalframe.store.refusals import command, gone
from evalframe.store.seals import Seal, SealDamaged, differences, packed, unpacked

if TYPE_CHECKING:
    from evalframe.store.journal import Journal

AnySeal = TypeVar("AnySeal", bound=Seal)


class Ledger:
    """What is sealed, read anew at each call; seals are kept once read, for a name never changes its content."""

    def __init__(self, files: Place) -> None:
        self.files = files
        self._read: dict[str, Seal] = {}

    def names(self, kind: str, shards: Iterable[str] | None = None) -> list[str]:
        """Names of all seals of a kind, or of those in some of its folders."""
        base = f"{layout.SEALS}/{kind}"
        found: list[str] = []
        if shards is None:
            found = [f"{kind}/{name}" for name in self.files.shards(base) if name[-5:] == ".json"]
        for shard in shards or ():
            prefix = f"{kind}/{shard}/"
            found += [prefix + name for name in self.files.names(f"{base}/{shard}") if name[-5:] == ".json"]
        if not found and not self.files.is_store():
            raise gone(self.files.root)
        return found

    def load(self, name: str) -> Seal:
        """One seal. Raises StoreCorrupt when it is not as it was written."""
        if name not in self._read:
            try:
                self._read[name] = unpacked(self.files.read_seal(f"{layout.SEALS}/{name}"), name)
            except (SealDamaged, FileNotFoundError) as damage:
                raise self.corrupt(name, str(damage)) from damage
        return self._read[name]

    def load_all(self, names: Iterable[str]) -> dict[str, Seal]:
        """Seals by name, as `load` gives them."""
        names = list(names)
        return dict(zip(names, self.files.each(self.load, names), strict=True))

    def find(self, seal_class: type[AnySeal], key: str) -> AnySeal | None:
        """The seal filed under `key`, None if there is none."""
        names = self._filed(f"{seal_class.kind}/{key}")
        return cast("AnySeal | None", self.chosen(names))

    def _filed(self, slot: str) -> list[str]:
        kind, shard, _ = slot.split("/", 2)
        return [name for name in self.names(kind, [shard]) if layout.slot_of(name) == slot]

    def chosen(self, names: list[str]) -> Seal | None:
        """The one seal that counts of those under one key.

        There is more than one only where file locks do not work: the first if all are the same content, else the
        store is corrupt.
        """
        seals = sorted((self.load(name) for name in names), key=lambda seal: (seal.created_at, packed(seal)))
        for other in seals[1:]:
            if unlike := differences(seals[0], other):
                raise self.corrupt(names[0], f"two seals of {other.title}: {unlike[0]}")
        return seals[0] if seals else None

    def corrupt(self, name: str, found: str) -> StoreCorrupt:
        """The error for a seal that cannot be believed."""
        return StoreCorrupt(
            "a seal cannot be believed",
            expected="seals as they were written",
            found=found,
            where=str(self.files.shown(f"{layout.SEALS}/{name}")),
            hint=command("store verify", self.files.root),
        )

    def publish(self, journal: Journal, seal: AnySeal) -> AnySeal:
        """Add a seal, after every file it lists is written. Returns the seal that stands under its key afterwards:
        this one, or another writer's that came first.

        The check and the renaming happen under one lock, so of two writers exactly one succeeds.
        """
        content, path = packed(seal)[0], self._path(seal)
        with reported("sealing", self.files.root):
            faults.reach("seal.before_write")
            publish = self.files.stage(journal.staged, content)
            faults.reach("seal.written")
            with self.files.exclusive(f"{layout.SEALS}/lock", about=seal.slot) as held:
                if (first := self.find(type(seal), seal.key)) is not None:
                    return first
                faults.reach("seal.before_rename")
                publish(path)
            faults.reach("seal.after_rename")
            self.files.settle(path.rpartition("/")[0])
        return seal if held else self._after_race(seal, path)

    def _after_race(self, seal: AnySeal, path: str) -> AnySeal:
        """Without locks two writers may both have sealed: a differing one is taken back, here and by the other."""
        rivals = self._filed(seal.slot)
        if any(differences(seal, self.load(name)) for name in rivals):
            self.files.remove(path)
            raise StoreConflict(
                f"another writer sealed {seal.title} at the same time, with different content",
                expected="one content per id",
                found=f"{len(rivals)} seals",
                where=str(self.files.root),
                hint="run the command again",
            )
        first = cast(AnySeal, self.chosen(rivals))
        if first != seal:
            self.files.remove(path)
        return first

    def stands(self, seal: Seal) -> bool:
        """Whether this very seal is in place: after a failure, only that tells whether its files are needed."""
        return self.files.stat(self._path(seal)) is not None

    def _path(self, seal: Seal) -> str:
        return f"{layout.SEALS}/{layout.seal_name(seal.slot, packed(seal)[1])}"


def conflict(sealed: Seal, given: Seal, *, root: object, hint: str) -> StoreConflict:
    """The refusal to write different content under a sealed id, naming what differs."""
    unlike = differences(sealed, given)
    more = f" (and {len(unlike) - 3} more)" if len(unlike) > 3 else ""
    return StoreConflict(
        f"{sealed.title} is sealed with different content",
        expected="the inputs and options it was sealed with, or another id",
        found="; ".join(unlike[:3]) + more,
        where=str(root),
        hint=hint,
    )
